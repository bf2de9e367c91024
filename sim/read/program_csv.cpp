#include "sim/read/program_csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "sim/model/inferred_placement.hpp"
#include "sim/model/program_check.hpp"
#include "sim/read/csv_cell.hpp"
#include "sim/read/text_file.hpp"

namespace pipecast {
namespace {

/// Where an operation's cell stands on its line, bytes from 0.
struct Place {
  std::uint32_t offset = 0;
  std::uint32_t length = 0;
};

/// Faults that a wrong dialect or an old file has in every cell: the first one and their number.
struct Repeated {
  std::optional<Diagnostic> first;
  std::size_t count = 0;

  /// `make` puts the diagnostic together; a span is as long as its line, so only the first is made.
  template <class Make>
  void add(Make make) {
    if (++count == 1) first = make();
  }
  void flush(FaultList& faults, std::string_view what) {
    if (!first) return;
    if (count > 1) first->message += fmt::format(" ({} {} in all)", count, what);
    faults.add(std::move(*first));
  }
};

class CsvReader {
 public:
  CsvReader(std::string_view text, const std::string& file, CsvDialect dialect,
            CsvNotation notation)
      : text_(text), file_(file), dialect_(dialect), notation_(notation) {}

  Result<Program> read() {
    if (!readable()) return fail(faults_.take(file_));
    std::string_view rest = text_;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      std::string_view line = rest.substr(0, end);
      if (line.ends_with('\r')) line.remove_suffix(1);
      read_line(line);
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    old_notation_.flush(faults_, "cells");
    communication_.flush(faults_, "cells");
    idle_.flush(faults_, "idle cells");
    check_notation();
    if (faults_.empty()) return check_program();
    check_what_was_read();
    return fail(faults_.take(file_));
  }

 private:
  bool readable() {
    SourceSpan whole;
    whole.file = file_;
    if (text_.size() > kMaxCsvBytes)
      faults_.add(input_error(fmt::format("the schedule is larger than {} MiB", kMaxCsvBytes >> 20),
                              {}, whole));
    else if (text_.starts_with("\xEF\xBB\xBF"))
      faults_.add(
          input_error("the file begins with a byte order mark, which would become part of "
                      "its first cell",
                      "save it as UTF-8 without a byte order mark",
                      text_span(file_, 1, 1, 3, text_.substr(0, text_.find('\n')))));
    else if (auto fault = text_fault(text_, file_))
      faults_.add(std::move(*fault));
    else if (text_.find_first_not_of(" \t\r\n") == std::string_view::npos)
      faults_.add(input_error("the schedule is empty", "one line per rank", whole));
    return faults_.empty();
  }

  SourceSpan span(std::size_t rank, std::size_t offset, std::size_t length) const {
    return text_span(file_, static_cast<int>(rank) + 1, static_cast<int>(offset) + 1, length,
                     lines_[rank]);
  }

  void read_line(std::string_view line) {
    const std::size_t rank = lines_.size();
    lines_.push_back(line);
    if (ranks_.size() >= static_cast<std::size_t>(kMaxRanks)) {
      if (rank == static_cast<std::size_t>(kMaxRanks))
        faults_.add(input_error(fmt::format("more than {} lines; a line is a rank", kMaxRanks), {},
                                span(rank, 0, 1)));
      shape_is_known_ = false;
      return;
    }
    ranks_.emplace_back();
    places_.emplace_back();
    first_unread_.push_back(kAllRead);
    std::size_t begin = 0;
    while (true) {
      const std::size_t end = std::min(line.find(',', begin), line.size());
      read_cell(line, begin, end);
      if (end == line.size()) break;
      begin = end + 1;
    }
    if (ranks_.back().empty() && !unread_cells_ && !faults_.full())
      faults_.add(input_error(fmt::format("rank {} does nothing", rank),
                              "a line is a rank; leave out lines without cells",
                              span(rank, 0, line.size())));
    if (ranks_.back().empty()) shape_is_known_ = false;
    unread_cells_ = false;
  }

  void read_cell(std::string_view line, std::size_t begin, std::size_t end) {
    std::string_view cell = line.substr(begin, end - begin);
    const std::size_t blanks = std::min(cell.find_first_not_of(" \t"), cell.size());
    const std::size_t offset = begin + blanks;
    cell.remove_prefix(blanks);
    cell = cell.substr(0, cell.find_last_not_of(" \t") + 1);
    const std::size_t rank = ranks_.size() - 1;
    if (cell.empty()) {
      if (dialect_ == CsvDialect::ComputeComms && !line.empty())
        idle_.add([&] {
          return input_error("an idle cell; a lowered schedule has none",
                             "leave idle cells out, or read the file as compute_only",
                             span(rank, std::min(begin, line.size() - 1), 1));
        });
      return;
    }
    auto ops = parse_cell(cell, dialect_, notation_);
    if (!ops) {
      add_fault(std::move(ops.error()), offset);
      return;
    }
    const Place place{static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(cell.size())};
    for (Op& op : *ops) {
      note_letter(op, rank, place);
      ranks_.back().push_back(op);
      places_.back().push_back(place);
    }
  }

  void add_fault(CellFault fault, std::size_t offset) {
    unread_cells_ = true;
    if (fault.kind != CellFault::Kind::Communication && first_unread_.back() == kAllRead)
      first_unread_.back() = static_cast<std::int32_t>(ranks_.back().size());
    if (fault.kind == CellFault::Kind::OldNotation) shape_is_known_ = false;
    const auto make = [&] {
      return input_error(std::move(fault.message), std::move(fault.hint),
                         span(ranks_.size() - 1, offset + fault.offset, fault.length));
    };
    switch (fault.kind) {
      case CellFault::Kind::Grammar:
        if (faults_.full()) return faults_.add_hidden();
        faults_.add(make());
        return;
      case CellFault::Kind::OldNotation:
        old_notation_.add(make);
        return;
      case CellFault::Kind::Communication:
        communication_.add(make);
        return;
    }
  }

  void note_letter(const Op& op, std::size_t rank, const Place& place) {
    if (op.kind == OpKind::BackwardInput) has_input_ = true;
    if (op.kind == OpKind::BackwardWeight && !first_weight_)
      first_weight_ = span(rank, place.offset, place.length);
  }

  /// A file with W and no I is PyTorch 2.5's, where B meant what I means today.
  void check_notation() {
    if (!first_weight_ || has_input_ || notation_ == CsvNotation::Torch25 || !faults_.empty())
      return;
    faults_.add(
        input_error("the file has W but no I: in the notation of PyTorch 2.5, B was the "
                    "gradient of the input",
                    "rename B to I, or say that the notation is torch-2.5", *first_weight_));
    shape_is_known_ = false;  // what B means decides every rule
  }

  /// Beside cells that are none: the rules that are broken whatever those were meant to be.
  void check_what_was_read() {
    if (!shape_is_known_) return;
    const auto program = with_inferred_placement(std::move(ranks_));
    if (!program) return;
    for (Violation& violation : certain_violations(*program, std::move(first_unread_)))
      faults_.add(input_error(std::move(violation.message), {}, place_of(violation)));
  }

  /// The rules of model/program.hpp, at the cells that break them.
  Result<Program> check_program() {
    auto program = with_inferred_placement(std::move(ranks_));
    if (!program) return fail(input_error(program.error().message, {}, place_of(program.error())));
    if (const auto fault = shifted_forwards(*program)) return fail(*fault);
    for (Violation& violation : violations(*program))
      faults_.add(input_error(std::move(violation.message), {}, place_of(violation)));
    if (!faults_.empty()) return fail(faults_.take(file_));
    return std::move(*program);
  }

  /// The order that PyTorch's Schedule1F1B._get_pipeline_order returns: the last rank's forwards
  /// are numbered 1 to m. One reason instead of the m + P violations it leads to.
  std::optional<Diagnostic> shifted_forwards(const Program& program) const {
    const std::size_t last = program.ranks.size() - 1;
    const int end = program.shape.microbatches - 1;
    if (last == 0 || end < 1) return std::nullopt;
    for (std::size_t rank = 0; rank <= last; ++rank) {
      std::int32_t next = rank == last ? 1 : 0;
      for (const Op& op : program.ranks[rank])
        if (is_forward(op.kind) && op.microbatch.value != next++) return std::nullopt;
      if (next != (rank == last ? end + 1 : end)) return std::nullopt;
    }
    const auto& ops = program.ranks[last];
    const auto first =
        std::find_if(ops.begin(), ops.end(), [](const Op& op) { return is_forward(op.kind); });
    const Place& place = places_[last][static_cast<std::size_t>(first - ops.begin())];
    return input_error(
        fmt::format("the forwards of rank {} are numbered 1 to {}, those of the "
                    "other ranks 0 to {}",
                    last, end, end - 1),
        "this is the order of Schedule1F1B._get_pipeline_order in PyTorch 2.8, which "
        "PyTorch does not execute either",
        span(last, place.offset, place.length));
  }

  SourceSpan place_of(const Violation& violation) const {
    SourceSpan whole;
    whole.file = file_;
    if (violation.rank.value < 0) return whole;
    const std::size_t rank = violation.rank.at();
    if (violation.position < 0) return span(rank, lines_[rank].size(), 1);
    const Place& place = places_[rank][static_cast<std::size_t>(violation.position)];
    return span(rank, place.offset, place.length);
  }

  std::string_view text_;
  const std::string& file_;
  CsvDialect dialect_;
  CsvNotation notation_;
  FaultList faults_;
  Repeated old_notation_;
  Repeated communication_;
  Repeated idle_;
  std::vector<std::string_view> lines_;
  std::vector<std::vector<Op>> ranks_;
  std::vector<std::vector<Place>> places_;
  static constexpr std::int32_t kAllRead = std::numeric_limits<std::int32_t>::max();
  FirstUnread first_unread_;
  bool shape_is_known_ = true;  ///< as far as a file with faults can tell
  bool unread_cells_ = false;   ///< of the line being read
  bool has_input_ = false;
  std::optional<SourceSpan> first_weight_;
};

}  // namespace

Result<Program> read_program_csv(std::string_view text, const std::string& file, CsvDialect dialect,
                                 CsvNotation notation) {
  return CsvReader(text, file, dialect, notation).read();
}

Result<Program> read_program_csv(std::string_view text, const std::string& file,
                                 CsvDialect dialect) {
  return read_program_csv(text, file, dialect, CsvNotation::Current);
}

Result<Program> read_program_csv_file(const std::string& path, CsvDialect dialect,
                                      CsvNotation notation) {
  const auto text = read_text_file(path, kMaxCsvBytes);
  if (!text) return fail(text.error());
  return read_program_csv(*text, path, dialect, notation);
}

Result<Program> read_program_csv_file(const std::string& path, CsvDialect dialect) {
  return read_program_csv_file(path, dialect, CsvNotation::Current);
}

std::string write_program_csv(const Program& program) {
  std::string text;
  for (const std::vector<Op>& ops : program.ranks) {
    for (std::size_t i = 0; i < ops.size(); i += cell_size(ops, i)) {
      if (i > 0) text += ',';
      text += cell_text(ops, i);
    }
    text += "\r\n";
  }
  return text;
}

}  // namespace pipecast
