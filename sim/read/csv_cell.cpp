#include "sim/read/csv_cell.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "sim/read/text_file.hpp"

namespace pipecast {
namespace {

constexpr std::array kKinds{OpKind::Forward,        OpKind::BackwardFull,    OpKind::BackwardInput,
                            OpKind::BackwardWeight, OpKind::SendForward,     OpKind::ReceiveForward,
                            OpKind::SendBackward,   OpKind::ReceiveBackward, OpKind::Unshard,
                            OpKind::Reshard,        OpKind::ReduceGrad,      OpKind::Optimizer};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_'; }

template <class Predicate>
std::string_view prefix(std::string_view text, Predicate matches) {
  const auto end = std::find_if_not(text.begin(), text.end(), matches);
  return text.substr(0, static_cast<std::size_t>(end - text.begin()));
}

bool takes_microbatch(OpKind kind) { return is_compute(kind) || is_send(kind) || is_receive(kind); }

using Cell = tl::expected<std::vector<Op>, CellFault>;

tl::unexpected<CellFault> wrong(CellFault::Kind kind, std::size_t offset, std::size_t length,
                                std::string message, std::string hint = {}) {
  return tl::unexpected(CellFault{kind, offset, std::max<std::size_t>(length, 1),
                                  std::move(message), std::move(hint)});
}

tl::unexpected<CellFault> ungrammatical(std::size_t offset, std::size_t length, std::string message,
                                        std::string hint = {}) {
  return wrong(CellFault::Kind::Grammar, offset, length, std::move(message), std::move(hint));
}

/// `F0_s1`: kind, microbatch, stage.
bool is_torch24(std::string_view text) {
  const std::string_view kind = prefix(text, [](char c) { return c >= 'A' && c <= 'Z'; });
  if (kind.empty()) return false;
  text.remove_prefix(kind.size());
  const std::string_view microbatch = prefix(text, is_digit);
  text.remove_prefix(microbatch.size());
  if (!text.starts_with("_s")) return false;
  text.remove_prefix(2);
  return !microbatch.empty() && !text.empty() && prefix(text, is_digit) == text;
}

std::optional<OpKind> kind_of(std::string_view word, CsvNotation notation) {
  if (notation == CsvNotation::Torch25) {
    if (word == "B") return OpKind::BackwardInput;
    if (word == "BW") return OpKind::BackwardFull;
    if (word == "I") return std::nullopt;
  }
  for (const OpKind kind : kKinds)
    if (op_word(kind) == word) return kind;
  return std::nullopt;
}

/// Reads one operation; offsets of faults are from the begin of `text`.
class SingleParser {
 public:
  SingleParser(std::string_view text, CsvNotation notation) : text_(text), notation_(notation) {}

  tl::expected<Op, CellFault> parse() {
    if (is_torch24(text_))
      return wrong(CellFault::Kind::OldNotation, 0, text_.size(),
                   fmt::format("'{}' is the notation of PyTorch 2.4", shown(text_)),
                   "write stage, operation, microbatch: 1F0 for F0_s1");
    if (text_.empty()) return ungrammatical(0, 1, "an operation is missing");
    Op op;
    const std::string_view stage = take(is_digit);
    if (stage.empty())
      return ungrammatical(0, text_.size(), fmt::format("'{}' is not a cell", shown(text_)),
                           cell_hint());
    const std::size_t word_at = at_;
    const std::string_view word = take(is_word);
    const auto kind = kind_of(word, notation_);
    if (!kind) return unknown(word, word_at);
    op.kind = *kind;
    const std::size_t number_at = at_;
    const std::string_view microbatch = take(is_digit);
    if (at_ < text_.size()) return junk();
    if (takes_microbatch(*kind) && microbatch.empty())
      return ungrammatical(0, text_.size(), fmt::format("{} needs a microbatch", text_));
    if (!takes_microbatch(*kind) && !microbatch.empty())
      return ungrammatical(number_at, microbatch.size(),
                           fmt::format("{} takes no microbatch", word));
    return finish(op, stage, number_at, microbatch);
  }

 private:
  template <class Predicate>
  std::string_view take(Predicate matches) {
    const std::string_view part = prefix(text_.substr(at_), matches);
    at_ += part.size();
    return part;
  }

  static std::string cell_hint() { return "a cell is stage, operation, microbatch: 0F3"; }

  tl::unexpected<CellFault> unknown(std::string_view word, std::size_t word_at) const {
    if (word == "BW" && notation_ == CsvNotation::Current)
      return wrong(CellFault::Kind::OldNotation, 0, text_.size(),
                   fmt::format("'{}' is the notation of PyTorch 2.5, where BW was the whole "
                               "backward and B the gradient of the input",
                               shown(text_)),
                   "write B for BW and I for B");
    if (word == "I" && notation_ == CsvNotation::Torch25)
      return ungrammatical(word_at, 1, "the notation of PyTorch 2.5 has no I",
                           "read the file in the current notation");
    if (word.empty())
      return ungrammatical(0, text_.size(), fmt::format("'{}' is not a cell", shown(text_)),
                           text_.find(';') != std::string_view::npos
                               ? "cells are separated by commas"
                               : cell_hint());
    std::vector<std::string> words;
    words.reserve(kKinds.size());
    for (const OpKind kind : kKinds) words.emplace_back(op_word(kind));
    std::string upper(word);
    std::transform(upper.begin(), upper.end(), upper.begin(),
                   [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
    return ungrammatical(word_at, word.size(), fmt::format("unknown operation '{}'", shown(word)),
                         suggest(upper, words));
  }

  tl::unexpected<CellFault> junk() const {
    const std::string_view rest = text_.substr(at_);
    return ungrammatical(
        at_, rest.size(),
        fmt::format("after {} stands '{}'", shown(text_.substr(0, at_)), shown(rest)),
        junk_hint(rest.front()));
  }

  static std::string junk_hint(char first) {
    if (first == ';') return "cells are separated by commas";
    if (first == '\r') return "lines end with LF or CR LF";
    return "a cell holds one operation and nothing behind it";
  }

  tl::expected<Op, CellFault> finish(Op op, std::string_view stage, std::size_t number_at,
                                     std::string_view microbatch) const {
    const auto stage_number = number(stage, 0);
    if (!stage_number) return tl::unexpected(stage_number.error());
    op.stage = {*stage_number};
    op.microbatch = {-1};
    if (microbatch.empty()) return op;
    const auto microbatch_number = number(microbatch, number_at);
    if (!microbatch_number) return tl::unexpected(microbatch_number.error());
    op.microbatch = {*microbatch_number};
    return op;
  }

  static tl::expected<std::int32_t, CellFault> number(std::string_view digits, std::size_t offset) {
    if (digits.size() > 1 && digits.front() == '0')
      return ungrammatical(offset, digits.size(),
                           fmt::format("'{}' has a leading zero", shown(digits)));
    std::int32_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc{} || end != digits.data() + digits.size())
      return ungrammatical(offset, digits.size(),
                           fmt::format("the number {} is too large", shown(digits)));
    return value;
  }

  std::string_view text_;
  CsvNotation notation_;
  std::size_t at_ = 0;
};

/// Operations separated by ';' that begin `offset` bytes into the cell.
Cell parse_list(std::string_view text, std::size_t offset, CsvNotation notation) {
  std::vector<Op> ops;
  for (;;) {
    const std::size_t end = std::min(text.find(';'), text.size());
    auto op = SingleParser(text.substr(0, end), notation).parse();
    if (!op) {
      op.error().offset += offset;
      return tl::unexpected(std::move(op.error()));
    }
    ops.push_back(*op);
    if (end == text.size()) break;
    ops.back().joined = true;
    text.remove_prefix(end + 1);
    offset += end + 1;
  }
  return ops;
}

Cell parse_single(std::string_view text, CsvNotation notation) {
  auto op = SingleParser(text, notation).parse();
  if (!op) return tl::unexpected(std::move(op.error()));
  return std::vector<Op>{*op};
}

Cell parse_batch(std::string_view text, Issue issue, CsvNotation notation) {
  constexpr std::size_t kOpening = 5;  // "post(", "wait("
  if (text.back() != ')')
    return ungrammatical(text.size() - 1, 1, "the batch is not closed by ')'");
  auto ops = parse_list(text.substr(kOpening, text.size() - kOpening - 1), kOpening, notation);
  if (!ops) return ops;
  for (Op& op : *ops) {
    if (!is_send(op.kind) && !is_receive(op.kind))
      return ungrammatical(0, text.size(),
                           fmt::format("{} is neither sent nor received", op_text(op)),
                           "a batch holds SEND and RECV operations");
    op.issue = issue;
  }
  return ops;
}

Cell parse_overlap(std::string_view text, CsvNotation notation) {
  constexpr std::string_view kEnd = ")OVERLAP_F_B";
  if (!text.ends_with(kEnd))
    return ungrammatical(0, text.size(), fmt::format("'{}' is not a cell", shown(text)),
                         "an overlapped pair is (0F8;7B4)OVERLAP_F_B");
  auto ops = parse_list(text.substr(1, text.size() - 1 - kEnd.size()), 1, notation);
  if (!ops) return ops;
  if (ops->size() != 2 || !is_forward(ops->front().kind) ||
      !produces_input_gradient(ops->back().kind))
    return ungrammatical(0, text.size(),
                         fmt::format("'{}' is not a forward and a backward", shown(text)),
                         "an overlapped pair is (0F8;7B4)OVERLAP_F_B");
  return ops;
}

}  // namespace

Cell parse_cell(std::string_view text, CsvDialect dialect, CsvNotation notation) {
  Cell ops;
  if (text.starts_with("post("))
    ops = parse_batch(text, Issue::Post, notation);
  else if (text.starts_with("wait("))
    ops = parse_batch(text, Issue::Wait, notation);
  else if (text.starts_with("("))
    ops = parse_overlap(text, notation);
  else
    ops = parse_single(text, notation);
  if (!ops || dialect == CsvDialect::ComputeComms) return ops;
  for (const Op& op : *ops)
    if (!is_compute(op.kind) && op.kind != OpKind::ReduceGrad)
      return wrong(
          CellFault::Kind::Communication, 0, text.size(),
          fmt::format("'{}' is communication, the file is read as compute_only", shown(text)),
          "read it with the dialect compute_comms");
  return ops;
}

}  // namespace pipecast
