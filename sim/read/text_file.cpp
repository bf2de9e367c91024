#include "sim/read/text_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "sim/base/utf8.hpp"

namespace pipecast {
namespace {

constexpr std::size_t kLongestShown = 40;
constexpr std::size_t kLongestSourceLine = 64 << 10;

bool is_printable(unsigned char byte) { return byte == '\t' || (byte >= 0x20 && byte != 0x7F); }

/// Names in the folder of a missing file, for a suggestion; a huge folder is not listed.
std::vector<std::string> siblings(const std::filesystem::path& path) {
  constexpr std::size_t kMost = 1000;
  std::vector<std::string> names;
  std::error_code error;
  const auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (names.size() == kMost) break;
    names.push_back(entry->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

Diagnostic missing_file(const std::string& path) {
  const std::filesystem::path where(path);
  const auto near = closest(where.filename().string(), siblings(where));
  return input_error(fmt::format("there is no file '{}'", path),
                     near ? fmt::format("did you mean '{}'?", *near) : std::string{});
}

}  // namespace

Result<std::string> read_text_file(const std::string& path, std::size_t limit_bytes) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (path.empty()) return fail(input_error("the file has no name"));
  if (!std::filesystem::exists(status)) return fail(missing_file(path));
  if (std::filesystem::is_directory(status))
    return fail(input_error(fmt::format("'{}' is a folder, not a file", path)));
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return fail(input_error(fmt::format("'{}' cannot be read", path)));
  std::string text;
  std::vector<char> block(1 << 16);
  while (stream && text.size() <= limit_bytes) {
    stream.read(block.data(), static_cast<std::streamsize>(block.size()));
    text.append(block.data(), static_cast<std::size_t>(stream.gcount()));
  }
  if (stream.bad()) return fail(input_error(fmt::format("'{}' cannot be read", path)));
  if (text.size() > limit_bytes)
    return fail(input_error(fmt::format("'{}' is larger than {} MiB", path, limit_bytes >> 20)));
  return text;
}

std::optional<Diagnostic> text_fault(std::string_view text, const std::string& file) {
  int line = 1;
  std::size_t start = 0;
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const std::size_t length = utf8_length(text.substr(i));
    if (length == 0 || (!is_printable(byte) && byte != '\n' && byte != '\r')) {
      const std::size_t end = std::min(text.find('\n', start), text.size());
      const auto where = text_span(file, line, static_cast<int>(i - start) + 1, 1,
                                   text.substr(start, end - start));
      if (length == 0) return input_error("the file is not UTF-8 text", {}, where);
      if (byte == 0) return input_error("the file holds a NUL byte", "is it a text file?", where);
      return input_error(fmt::format("the file holds the control character {:#04x}", byte), {},
                         where);
    }
    i += length;
    if (byte != '\n') continue;
    ++line;
    start = i;
  }
  return std::nullopt;
}

std::string printable(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const auto byte = static_cast<unsigned char>(text.front());
    if (length == 0 || !is_printable(byte) || byte == '\t')
      result += fmt::format("\\x{:02x}", byte);
    else
      result += text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return result;
}

std::string shown(std::string_view text) {
  std::size_t end = std::min(text.size(), kLongestShown);
  while (end < text.size() && end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80)
    --end;
  return printable(text.substr(0, end)) + (end < text.size() ? "..." : "");
}

SourceSpan text_span(const std::string& file, int line, int column, std::size_t length,
                     std::string_view line_text) {
  SourceSpan span{file, line, column, static_cast<int>(std::min<std::size_t>(length, 1 << 20)), {}};
  if (line_text.size() > kLongestSourceLine) return span;
  const auto plain = [](char c) { return c >= ' ' && c <= '~'; };
  if (std::all_of(line_text.begin(), line_text.end(), plain)) {
    span.source_line = line_text;
    return span;
  }
  while (!line_text.empty()) {
    const std::size_t width = utf8_length(line_text);
    if (width == 0 || !is_printable(static_cast<unsigned char>(line_text.front())))
      span.source_line += '?';
    else
      span.source_line += line_text.substr(0, width);
    line_text.remove_prefix(std::max<std::size_t>(width, 1));
  }
  return span;
}

LinedText::LinedText(std::string text) : text_(std::move(text)) {
  starts_.push_back(0);
  for (std::size_t i = 0; i < text_.size(); ++i)
    if (text_[i] == '\n' && i + 1 < text_.size())
      starts_.push_back(static_cast<std::uint32_t>(i + 1));
}

std::string_view LinedText::line(int line) const {
  if (line < 1 || line > lines()) return {};
  const auto index = static_cast<std::size_t>(line);
  const std::size_t begin = starts_[index - 1];
  std::size_t end = index < starts_.size() ? starts_[index] : text_.size();
  if (end > begin && text_[end - 1] == '\n') --end;
  if (end > begin && text_[end - 1] == '\r') --end;
  return std::string_view(text_).substr(begin, end - begin);
}

void FaultList::add(Diagnostic fault) {
  if (full()) {
    ++hidden_;
    return;
  }
  fault.message = printable(fault.message);
  fault.hint = printable(fault.hint);
  faults_.push_back(std::move(fault));
}

void FaultList::add(Diagnostics faults) {
  for (Diagnostic& fault : faults) add(std::move(fault));
}

Diagnostics FaultList::take(const std::string& file) {
  const auto place = [&](const Diagnostic& fault) {
    const bool other = fault.where.file != file;
    return std::tuple(other, other ? 0 : fault.where.line, other ? 0 : fault.where.column);
  };
  std::stable_sort(faults_.begin(), faults_.end(),
                   [&](const Diagnostic& a, const Diagnostic& b) { return place(a) < place(b); });
  if (hidden_ > 0) {
    SourceSpan where;
    where.file = file;
    faults_.push_back(input_error(fmt::format("and {} more faults", hidden_), {}, where));
  }
  hidden_ = 0;
  return std::move(faults_);
}

}  // namespace pipecast
