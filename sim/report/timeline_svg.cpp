#include "sim/report/timeline_svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/report/text_sink.hpp"
#include "sim/report/time_axis.hpp"
#include "sim/report/timeline_ink.hpp"
#include "sim/report/timeline_pieces.hpp"

namespace pipecast {
namespace {

// All lengths are SVG user units, one pixel at 100 %.
constexpr double kRow = 24;
constexpr double kBox = 22;
constexpr double kDigit = 6.4;  ///< a digit of the boxes' 11-pixel font
constexpr double kPadding = 5;
constexpr double kLeast = 560;  ///< narrowest diagram, for the legend's sake
constexpr double kMost = 16'000;
constexpr double kMargin = 14;

/// Class of the style sheet below; the fills have grey values of about 81, 40, 63 and 21 %.
std::string_view class_of(Ink ink) {
  switch (ink) {
    case Ink::None:
      return "n";
    case Ink::Forward:
      return "f";
    case Ink::Backward:
      return "b";
    case Ink::Input:
      return "i";
    case Ink::Weight:
      return "w";
    case Ink::Idle:
      return "d";
    case Ink::Waiting:
      return "m";
    case Ink::Pause:
      return "p";
    case Ink::Mixed:
      return "x";
  }
  return "n";
}

constexpr std::string_view kStyle = R"svg(<style>
svg{font-family:Helvetica,Arial,"Liberation Sans",sans-serif;font-size:11px;fill:#111}
.bg{fill:#f3f3f3}
.f{fill:#b4d6f4}.b{fill:#35805a}.i{fill:#e58f43}.w{fill:#47226a}
.box{stroke:#fff;stroke-width:1}
.m{fill:none;stroke:#777;stroke-width:2}
.p{fill:none;stroke:#777;stroke-width:2;stroke-dasharray:2 3}
.h{fill:url(#hatch)}
text{text-anchor:middle}
.lf,.li,.lb,.lw{paint-order:stroke;stroke-width:3px}
.lf{stroke:#b4d6f4}.li{stroke:#e58f43}.lb{fill:#fff;stroke:#35805a}.lw{fill:#fff;stroke:#47226a}
.left{text-anchor:start}.right{text-anchor:end}
.title{font-size:15px;font-weight:bold;text-anchor:start}
.axis{stroke:#555;stroke-width:1}
</style>
<defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="6" height="6" fill="none"/><rect width="1.6" height="6" fill="#000" fill-opacity="0.28"/></pattern></defs>
)svg";

class SvgDiagram {
 public:
  SvgDiagram(const Program& program, const Workload& workload, const TaskGraph& graph,
             const Timeline& timeline, const TimelineSvgOptions& options, TextSink& sink)
      : program_(program), options_(options), index_(index_run(graph, timeline)), sink_(sink) {
    const int all = program.shape.ranks;
    const int shown = std::clamp(options.most_ranks, 1, all);
    for (int i = 0; i < shown; ++i)
      ranks_.push_back(
          {shown == 1 ? 0 : static_cast<int>(std::int64_t{i} * (all - 1) / (shown - 1))});
    std::size_t boxes = 0;
    for (const Rank rank : ranks_) {
      rows_.push_back(timeline_pieces(program, workload, graph, timeline, index_, rank));
      boxes += rows_.back().size();
    }
    compressed_ = boxes > static_cast<std::size_t>(std::max(options.most_boxes, 0));
    chunks_ = chunks_per_rank(program);
    left_ = kMargin + kDigit * static_cast<double>(rank_label(program.shape.ranks - 1).size()) + 6;
    choose_scale();
  }

  void write() {
    top_ = kMargin + (options_.title.empty() ? 0 : 20) + (options_.subtitle.empty() ? 0 : 16);
    const double axis = top_ + kRow * static_cast<double>(rows_.size()) + 4;
    const double height = axis + 52 + notes_height();
    const double width = left_ + std::max(length_, kLeast) + 2 * kMargin;
    sink_.text(R"(<svg xmlns="http://www.w3.org/2000/svg" role="img" width=")").text(fixed(width));
    sink_.text("\" height=\"").text(fixed(height)).text("\" viewBox=\"0 0 ").text(fixed(width));
    sink_.text(" ").text(fixed(height)).text("\">\n<title>");
    escaped(options_.title.empty() ? "pipeline diagram" : options_.title).text("</title>\n");
    sink_.text(kStyle).text(R"(<rect width="100%" height="100%" fill="#fff"/>)").text("\n");
    write_titles();
    for (std::size_t i = 0; i < rows_.size(); ++i) write_row(i);
    write_axis(axis);
    write_legend(axis + 40);
    sink_.text("</svg>\n");
  }

 private:
  static std::string rank_label(int rank) { return fmt::format("rank {}", rank); }
  /// Two decimals are finer than any screen or printer.
  static std::string fixed(double length) {
    const double rounded = std::round(length * 100) / 100;
    return format_number(rounded == 0 ? 0 : rounded);
  }

  TextSink& escaped(std::string_view text) {
    for (const char letter : text) {
      if (letter == '<')
        sink_.text("&lt;");
      else if (letter == '>')
        sink_.text("&gt;");
      else if (letter == '&')
        sink_.text("&amp;");
      else if (letter == '"')
        sink_.text("&quot;");
      else if (static_cast<unsigned char>(letter) >= 0x20)
        sink_.text({&letter, 1});
      else
        sink_.text(" ");
    }
    return sink_;
  }

  std::string box_label(const Piece& piece, double width) const {
    const std::string number = std::to_string(piece.op.microbatch.value);
    if (chunks_ > 2) {
      const std::string text = op_text(piece.op);
      if (kDigit * static_cast<double>(text.size()) + 4 <= width) return text;
    }
    return kDigit * static_cast<double>(number.size()) + 2 <= width ? number : "";
  }

  /// The shortest operation gets the room of the longest label.
  void choose_scale() {
    double shortest = index_.makespan_s;
    for (const auto& row : rows_)
      for (const Piece& piece : row)
        if (!piece.idle && piece.seconds() > 1e-9 * index_.makespan_s)
          shortest = std::min(shortest, piece.seconds());
    if (index_.makespan_s <= 0) return;
    auto digits = std::to_string(program_.shape.microbatches - 1).size();
    if (chunks_ > 2) digits += 1 + std::to_string(program_.placement.stages - 1).size();
    const double wanted = kDigit * static_cast<double>(digits) + 2 * kPadding;
    const double length =
        compressed_ ? kCompressedColumns : std::min(wanted * index_.makespan_s / shortest, kMost);
    per_second_ = length / index_.makespan_s;
    length_ = length;
  }

  double x(double time_s) const { return left_ + time_s * per_second_; }

  void write_titles() {
    double y = kMargin;
    const auto line = [&](const std::string& text, std::string_view style, double height) {
      if (text.empty()) return;
      y += height;
      sink_.text("<text class=\"").text(style).text("\" x=\"").text(fixed(kMargin));
      sink_.text("\" y=\"").text(fixed(y - 6)).text("\">");
      escaped(text).text("</text>\n");
    };
    line(options_.title, "title", 20);
    line(options_.subtitle, "left", 16);
  }

  void write_row(std::size_t i) {
    sink_.text("<g transform=\"translate(0,").text(fixed(top_ + kRow * static_cast<double>(i)));
    sink_.text(")\">\n<text class=\"right\" x=\"").text(fixed(left_ - 6));
    sink_.text("\" y=\"15\">").text(rank_label(ranks_[i].value)).text("</text>");
    rectangle("bg", left_, length_);
    if (compressed_)
      write_compressed(rows_[i]);
    else
      for (const Piece& piece : rows_[i]) write_piece(piece);
    sink_.text("\n</g>\n");
  }

  struct Extent {
    double x = 0;
    double y = 0;
    double width = 0;
    double height = kBox;
  };

  void rectangle(std::string_view style, const Extent& extent) {
    sink_.text("\n<rect class=\"").text(style).text("\" x=\"").text(fixed(extent.x));
    if (extent.y != 0) sink_.text("\" y=\"").text(fixed(extent.y));
    sink_.text("\" width=\"").text(fixed(extent.width)).text("\" height=\"");
    sink_.text(fixed(extent.height)).text("\"/>");
  }
  void rectangle(std::string_view style, double from, double width) {
    rectangle(style, {from, 0, width, kBox});
  }

  void write_piece(const Piece& piece) {
    const Ink ink = ink_of(piece);
    const double from = x(piece.start_s);
    const double width = x(piece.end_s) - from;
    if (width <= 0 || ink == Ink::Idle) return;
    if (piece.idle) return stroke(ink, from, x(piece.end_s), kBox / 2);
    const std::string style = fmt::format("box {}", class_of(ink));
    rectangle(style, from, width);
    if (piece.chunk % 2 == 1) rectangle("h", from, width);
    const std::string label = box_label(piece, width);
    if (label.empty()) return;
    sink_.text("<text class=\"l").text(class_of(ink)).text("\" x=\"").text(fixed(from + width / 2));
    sink_.text("\" y=\"15\">").text(label).text("</text>");
  }

  void stroke(Ink ink, double from, double to, double y) {
    sink_.text("\n<path class=\"").text(class_of(ink)).text("\" d=\"M").text(fixed(from));
    sink_.text(" ").text(fixed(y)).text("H").text(fixed(to)).text("\"/>");
  }

  /// Heights of a compressed column, in twelfths of a box, so that equal neighbours merge.
  using Heights = std::array<int, 2 * kInks>;

  static Heights heights_of(const InkShares& shares) {
    constexpr double kSteps = 12;
    Heights heights{};
    double sum = 0;
    double done = 0;
    for (std::size_t ink = 0; ink < heights.size(); ++ink) {
      if (is_blank(static_cast<Ink>(ink % kInks))) continue;
      sum += shares[ink];
      heights[ink] = static_cast<int>(std::lround(sum * kSteps) - std::lround(done * kSteps));
      done = sum;
    }
    return heights;
  }

  static bool is_blank(Ink ink) {
    return ink == Ink::None || ink == Ink::Idle || ink == Ink::Waiting || ink == Ink::Pause;
  }

  /// A column's kinds of work stand on each other; what is missing to the full height is idle.
  void write_compressed(const std::vector<Piece>& row) {
    const auto shares = smooth_ink_shares(row, per_second_, 0, kCompressedColumns);
    for (std::size_t i = 0; i < shares.size();) {
      const Heights heights = heights_of(shares[i]);
      std::size_t end = i + 1;
      while (end < shares.size() && heights_of(shares[end]) == heights) ++end;
      double floor = kBox;
      for (std::size_t ink = 0; ink < heights.size(); ++ink) {
        if (heights[ink] == 0) continue;
        const double height = kBox * heights[ink] / 12;
        floor -= height;
        const Extent extent{left_ + static_cast<double>(i), floor, static_cast<double>(end - i),
                            height};
        rectangle(class_of(static_cast<Ink>(ink % kInks)), extent);
        if (ink >= kInks) rectangle("h", extent);
      }
      i = end;
    }
  }

  void write_axis(double y) {
    sink_.text("<path class=\"axis\" d=\"M").text(fixed(left_)).text(" ").text(fixed(y)).text("H");
    sink_.text(fixed(left_ + length_)).text("\"/>\n");
    if (index_.makespan_s <= 0) return;
    const TimeAxis axis = choose_axis(index_.makespan_s, 60 / per_second_, options_.labels);
    for (int mark = 0; mark * axis.step_s <= index_.makespan_s * (1 + 1e-9); ++mark) {
      const std::string at = fixed(x(mark * axis.step_s));
      sink_.text("<path class=\"axis\" d=\"M").text(at).text(" ").text(fixed(y)).text("v4\"/>");
      sink_.text("<text x=\"").text(at).text("\" y=\"").text(fixed(y + 16)).text("\">");
      sink_.text(axis.label(mark * axis.step_s));
      if (mark == 0 && !axis.unit.empty()) sink_.text(" ").text(axis.unit);
      sink_.text("</text>\n");
    }
  }

  struct Entry {
    Ink ink;
    bool odd;
    std::string text;
  };

  std::vector<Entry> legend_entries() const {
    std::vector<Entry> entries;
    for (const Ink ink : inks_used(rows_, false))
      entries.push_back({ink, false, std::string(ink_name(ink))});
    const bool odd = std::any_of(rows_.begin(), rows_.end(), [](const std::vector<Piece>& row) {
      return std::any_of(row.begin(), row.end(),
                         [](const Piece& piece) { return !piece.idle && piece.chunk % 2 == 1; });
    });
    if (odd)
      entries.push_back({Ink::None, true,
                         program_.placement.directions() > 1 ? "the opposite direction"
                         : chunks_ == 2                      ? "second chunk of the rank"
                                                             : "odd chunk of the rank"});
    return entries;
  }

  void write_legend(double y) {
    double at = left_;
    sink_.text("<g transform=\"translate(0,").text(fixed(y - 14)).text(")\">");
    for (const Entry& entry : legend_entries()) {
      rectangle(entry.ink == Ink::Idle || entry.ink == Ink::Waiting || entry.ink == Ink::Pause
                    ? "bg"
                    : class_of(entry.ink),
                at, 22);
      if (entry.odd) rectangle("bg", at, 22);
      if (entry.odd) rectangle("h", at, 22);
      if (entry.ink == Ink::Waiting || entry.ink == Ink::Pause)
        stroke(entry.ink, at, at + 22, kBox / 2);
      sink_.text("<text class=\"left\" x=\"").text(fixed(at + 27)).text("\" y=\"15\">");
      sink_.text(entry.text).text("</text>");
      at += 27 + 6.2 * static_cast<double>(entry.text.size()) + 14;
    }
    sink_.text("\n</g>\n");
    for (const std::string& note : notes()) {
      y += 16;
      sink_.text("<text class=\"left\" x=\"")
          .text(fixed(left_))
          .text("\" y=\"")
          .text(fixed(y + 12));
      sink_.text("\">").text(note).text("</text>\n");
    }
  }

  std::vector<std::string> notes() const {
    std::vector<std::string> lines;
    if (compressed_)
      lines.push_back("Compressed: the height of a colour is its share of the time.");
    if (ranks_.size() < program_.ranks.size())
      lines.push_back(
          fmt::format("{} of {} ranks are drawn.", ranks_.size(), program_.ranks.size()));
    return lines;
  }
  double notes_height() const { return 16 * static_cast<double>(notes().size()) + kMargin; }

  const Program& program_;
  const TimelineSvgOptions& options_;
  RunIndex index_;
  TextSink& sink_;
  std::vector<Rank> ranks_;
  std::vector<std::vector<Piece>> rows_;
  bool compressed_ = false;
  int chunks_ = 1;
  double left_ = 0;
  double top_ = 0;
  double length_ = kLeast;
  double per_second_ = 0;
};

}  // namespace

void write_timeline_svg(const Program& program, const Workload& workload, const TaskGraph& graph,
                        const Timeline& timeline, const TimelineSvgOptions& options,
                        std::ostream& out) {
  TextSink sink(out);
  SvgDiagram(program, workload, graph, timeline, options, sink).write();
}

}  // namespace pipecast
