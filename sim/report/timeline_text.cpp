#include "sim/report/timeline_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/report/time_axis.hpp"
#include "sim/report/timeline_ink.hpp"
#include "sim/report/timeline_pieces.hpp"

namespace pipecast {
namespace {

struct Column {
  char glyph = ' ';
  Ink ink = Ink::None;
  bool odd = false;  ///< chunk is odd

  bool same_style(const Column& other) const { return ink == other.ink && odd == other.odd; }
};

char letter_of(Ink ink) {
  constexpr std::string_view kLetters = " FBIW.>:x";
  return kLetters[static_cast<std::size_t>(ink)];
}

char fill_of(Ink ink) {
  constexpr std::string_view kFills = " -=~+.>:x";
  return kFills[static_cast<std::size_t>(ink)];
}

/// ANSI colours that also differ in brightness; odd chunks are darker.
std::string_view ansi_of(const Column& column) {
  constexpr std::array<std::string_view, kInks> kEven = {"",
                                                         "38;5;16;48;5;117",
                                                         "38;5;16;48;5;114",
                                                         "38;5;16;48;5;80",
                                                         "38;5;16;48;5;221",
                                                         "2",
                                                         "31",
                                                         "35",
                                                         "38;5;16;48;5;152"};
  constexpr std::array<std::string_view, kInks> kOdd = {"",
                                                        "38;5;231;48;5;25",
                                                        "38;5;231;48;5;28",
                                                        "38;5;231;48;5;30",
                                                        "38;5;231;48;5;130",
                                                        "2",
                                                        "31",
                                                        "35",
                                                        "38;5;16;48;5;152"};
  return (column.odd ? kOdd : kEven)[static_cast<std::size_t>(column.ink)];
}

bool is_whole(double number) { return std::abs(number - std::round(number)) < 1e-6; }

class TextDiagram {
 public:
  TextDiagram(const Program& program, const Workload& workload, const TaskGraph& graph,
              const Timeline& timeline, const TimelineTextOptions& options)
      : program_(program), options_(options), index_(index_run(graph, timeline)) {
    choose_ranks();
    for (const Rank rank : ranks_)
      rows_.push_back(timeline_pieces(program, workload, graph, timeline, index_, rank));
    chunks_ = chunks_per_rank(program);
    label_width_ = fmt::format("rank {} ", program.shape.ranks - 1).size() + 1;
    width_ = std::max(options.columns, 40) - static_cast<int>(label_width_) - 1;
    choose_scale();
  }

  std::string draw() {
    if (index_.makespan_s <= 0) return "nothing takes any time\n";
    std::string text;
    const auto all = static_cast<int>(std::ceil(index_.makespan_s * columns_per_s_ - 1e-6));
    for (int first = 0; first < all;) {
      if (first > 0) text += "\n";
      const int columns = all - first <= width_ ? all - first : page_columns(first);
      draw_page(text, first, columns);
      first += columns;
    }
    return text + legend();
  }

 private:
  void choose_ranks() {
    const int all = program_.shape.ranks;
    const int shown = std::clamp(options_.most_ranks, 1, all);
    for (int i = 0; i < shown; ++i)
      ranks_.push_back(
          {shown == 1 ? 0 : static_cast<int>(std::int64_t{i} * (all - 1) / (shown - 1))});
  }

  std::string box_label(const Piece& piece) const {
    std::string text = op_text(piece.op);
    if (chunks_ > 2 && program_.placement.directions() == 1) return text;
    text = text.substr(text.find_first_not_of("0123456789"));
    if (piece.chunk % 2 == 1) text[0] = static_cast<char>(text[0] - 'A' + 'a');
    return text;
  }

  /// The longest label, and a fill column where labels begin with a digit.
  int label_columns() const {
    std::size_t longest = 1;
    for (const auto& row : rows_)
      for (const Piece& piece : row)
        if (!piece.idle) longest = std::max(longest, box_label(piece).size());
    return static_cast<int>(longest) + (chunks_ > 2 ? 1 : 0);
  }

  /// Shortest operation that takes time.
  double shortest_s() const {
    double shortest = index_.makespan_s;
    for (const auto& row : rows_)
      for (const Piece& piece : row)
        if (!piece.idle && piece.seconds() > 1e-9 * index_.makespan_s)
          shortest = std::min(shortest, piece.seconds());
    return shortest;
  }

  /// Everything begins and ends at a multiple of this; 0 when there is no such tick.
  double tick_s(double shortest) const {
    for (const int parts : {1, 2, 3, 4}) {
      const double tick = shortest / parts;
      const auto fits = [&](const Piece& piece) {
        return is_whole(piece.start_s / tick) && is_whole(piece.end_s / tick);
      };
      if (std::all_of(rows_.begin(), rows_.end(), [&](const std::vector<Piece>& row) {
            return std::all_of(row.begin(), row.end(), fits);
          }))
        return tick;
    }
    return 0;
  }

  void choose_scale() {
    if (index_.makespan_s <= 0) return;
    const double shortest = shortest_s();
    const double tick = tick_s(shortest);
    const int label = label_columns();
    const double fitting = width_ / index_.makespan_s;
    const double readable = label / shortest;
    if (fitting >= readable) {
      columns_per_s_ = std::min(fitting, (label + 2) / shortest);
      if (tick > 0) columns_per_s_ = std::floor(columns_per_s_ * tick + 1e-9) / tick;
      if (columns_per_s_ >= readable * (1 - 1e-9)) return;
    }
    columns_per_s_ = tick > 0 ? std::ceil(readable * tick - 1e-9) / tick : readable;
    if (index_.makespan_s * columns_per_s_ <= options_.most_pages * width_) return;
    numbered_ = false;
    columns_per_s_ = fitting;
    if (tick > 0 && fitting * tick >= 1) columns_per_s_ = std::floor(fitting * tick) / tick;
  }

  int column(double time_s) const { return static_cast<int>(std::lround(time_s * columns_per_s_)); }

  /// Where a page ends: in its last quarter, where fewest boxes are cut in two.
  int page_columns(int first) const {
    std::vector<int> cuts(static_cast<std::size_t>(width_) + 1, 0);
    for (const auto& row : rows_)
      for (const Piece& piece : row)
        for (int i = std::max(column(piece.start_s) + 1 - first, 0);
             !piece.idle && i < std::min(column(piece.end_s) - first, width_ + 1); ++i)
          ++cuts[static_cast<std::size_t>(i)];
    int best = width_;
    for (int i = width_; i > width_ * 3 / 4; --i)
      if (cuts[static_cast<std::size_t>(i)] < cuts[static_cast<std::size_t>(best)]) best = i;
    return best;
  }

  void draw_page(std::string& text, int first, int columns) const {
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const auto line =
          numbered_ ? boxes(rows_[i], first, columns) : compressed(rows_[i], first, columns);
      text += fmt::format("{:<{}}|", fmt::format("rank {}", ranks_[i].value), label_width_ - 1);
      append(text, line);
      text += "\n";
    }
    append_axis(text, first, columns);
  }

  std::vector<Column> boxes(const std::vector<Piece>& row, int first, int columns) const {
    std::vector<Column> line(static_cast<std::size_t>(columns));
    for (const Piece& piece : row) {
      const int begin = column(piece.start_s);
      const int end = column(piece.end_s);
      if (end <= first || begin >= first + columns) continue;
      const std::string name = piece.idle ? "" : box_label(piece);
      const bool room = static_cast<int>(name.size()) <= end - begin;
      const Ink ink = ink_of(piece);
      for (int i = std::max(begin, first); i < std::min(end, first + columns); ++i) {
        const auto place = static_cast<std::size_t>(i - begin);
        char glyph = piece.paired ? '&' : fill_of(ink);
        if (options_.color == Color::Ansi && !piece.idle && !piece.paired) glyph = ' ';
        if (room && place < name.size()) glyph = name[place];
        if (!room && place == 0 && !piece.idle) glyph = box_letter(piece);
        line[static_cast<std::size_t>(i - first)] = {glyph, ink, piece.chunk % 2 == 1};
      }
    }
    return line;
  }

  static char box_letter(const Piece& piece) {
    const char letter = letter_of(ink_of(piece));
    return piece.chunk % 2 == 1 ? static_cast<char>(letter - 'A' + 'a') : letter;
  }

  std::vector<Column> compressed(const std::vector<Piece>& row, int first, int columns) const {
    std::vector<Column> line;
    for (const auto& [ink, odd] : compress_row(row, columns_per_s_, first, columns)) {
      char glyph = letter_of(ink);
      if (odd && glyph >= 'A' && glyph <= 'Z') glyph = static_cast<char>(glyph - 'A' + 'a');
      line.push_back({glyph, ink, odd});
    }
    return line;
  }

  void append(std::string& text, const std::vector<Column>& line) const {
    if (options_.color == Color::Plain) {
      for (const Column& column : line) text += column.glyph;
      text.resize(text.find_last_not_of(' ') + 1);
      return;
    }
    for (std::size_t i = 0; i < line.size();) {
      std::size_t end = i;
      while (end < line.size() && line[end].same_style(line[i])) ++end;
      const std::string_view style = ansi_of(line[i]);
      if (!style.empty()) text += fmt::format("\x1b[{}m", style);
      for (; i < end; ++i) text += line[i].glyph;
      if (!style.empty()) text += "\x1b[0m";
    }
  }

  void append_axis(std::string& text, int first, int columns) const {
    const TimeAxis axis = choose_axis(index_.makespan_s, 10 / columns_per_s_, options_.labels);
    std::string line(static_cast<std::size_t>(columns), '-');
    std::string numbers;
    for (int mark = 0;; ++mark) {
      const int at = column(mark * axis.step_s) - first;
      if (at >= columns) break;
      if (at < 0) continue;
      line[static_cast<std::size_t>(at)] = '+';
      std::string label = axis.label(mark * axis.step_s);
      if (numbers.empty() && !axis.unit.empty()) label += " " + axis.unit;
      if (at + static_cast<int>(label.size()) > columns) break;
      numbers.resize(std::max(numbers.size(), static_cast<std::size_t>(at)), ' ');
      numbers += label;
    }
    text += std::string(label_width_, ' ') + line + "\n";
    text += std::string(label_width_, ' ') + numbers + "\n";
  }

  std::string legend() const {
    bool odd = false;
    bool paired = false;
    for (const auto& row : rows_)
      for (const Piece& piece : row) {
        odd |= !piece.idle && piece.chunk % 2 == 1;
        paired |= piece.paired;
      }
    std::vector<std::string> entries;
    for (const Ink ink : inks_used(rows_, !numbered_))
      entries.push_back(fmt::format("{} {}", letter_of(ink), ink_name(ink)));
    if (paired && numbered_) entries.push_back("& overlapped pair");
    std::string text = folded(numbered_ ? "letter and microbatch: " : "", entries);
    if (odd) text += odd_legend();
    if (!numbered_)
      text += fmt::format("compressed: {} a column, drawn as what filled most\n",
                          duration_text(1 / columns_per_s_));
    if (ranks_.size() < program_.ranks.size())
      text += fmt::format("{} of {} ranks are drawn\n", ranks_.size(), program_.ranks.size());
    return text;
  }

  /// The entries separated by commas, on lines no wider than the drawing.
  std::string folded(std::string line, const std::vector<std::string>& entries) const {
    std::string text;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const std::string entry = entries[i] + (i + 1 < entries.size() ? "," : "");
      const bool fits = line.size() + 1 + entry.size() <=
                        static_cast<std::size_t>(std::max(options_.columns, 40));
      if (i > 0 && !fits) {
        text += line + "\n";
        line.clear();
      } else if (i > 0) {
        line += ' ';
      }
      line += entry;
    }
    return text + line + "\n";
  }

  std::string odd_legend() const {
    if (program_.placement.directions() > 1) return "lower case: the opposite direction\n";
    if (chunks_ == 2) return "lower case: the rank's second chunk\n";
    return numbered_ ? "a box is stage, letter, microbatch\n" : "lower case: odd chunks\n";
  }

  std::string duration_text(double seconds) const {
    return options_.labels == TimeLabels::Ticks ? fmt::format("{:.3g} ticks", seconds)
                                                : format(Seconds{seconds});
  }

  const Program& program_;
  const TimelineTextOptions& options_;
  RunIndex index_;
  std::vector<Rank> ranks_;
  std::vector<std::vector<Piece>> rows_;
  int chunks_ = 1;
  std::size_t label_width_ = 0;
  int width_ = 0;
  double columns_per_s_ = 1;
  bool numbered_ = true;
};

}  // namespace

std::string timeline_text(const Program& program, const Workload& workload, const TaskGraph& graph,
                          const Timeline& timeline, const TimelineTextOptions& options) {
  return TextDiagram(program, workload, graph, timeline, options).draw();
}

}  // namespace pipecast
