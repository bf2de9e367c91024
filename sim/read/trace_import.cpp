#include "sim/read/trace_import.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

#include "sim/read/text_file.hpp"

namespace pipecast {
namespace {

using Json = nlohmann::json;

/// Complete events of the pipeline runtime: `PP:1F3`, `Forward 0`.
bool is_pipeline_annotation(std::string_view name) {
  return name.starts_with("PP:") || name.starts_with("Forward ") || name.starts_with("Backward ");
}

bool is_transfer_kernel(std::string_view name) {
  return name.starts_with("nccl") && name.find("SendRecv") != std::string_view::npos;
}

TraceHostOp::Sort sort_of(std::string_view name) {
  using Sort = TraceHostOp::Sort;
  if (name.starts_with("c10d::")) return Sort::Posting;
  if (name.starts_with("autograd::")) return Sort::Autograd;
  return name.find("detach") != std::string_view::npos ? Sort::Detach : Sort::Other;
}

/// The parser's callbacks. Depth counts open brackets: events are objects in the list of the root's
/// key `traceEvents`, or in a root that is a list.
class TraceReader {
 public:
  using number_integer_t = Json::number_integer_t;
  using number_unsigned_t = Json::number_unsigned_t;
  using number_float_t = Json::number_float_t;
  using string_t = Json::string_t;
  using binary_t = Json::binary_t;

  explicit TraceReader(TraceContent& content) : content_(content) {}

  bool null() { return true; }
  bool boolean(bool) { return true; }
  bool binary(binary_t&) { return true; }
  bool number_integer(number_integer_t value) { return number(static_cast<double>(value)); }
  bool number_unsigned(number_unsigned_t value) { return number(static_cast<double>(value)); }
  bool number_float(number_float_t value, const string_t&) { return number(value); }

  bool string(string_t& text) {
    if (!in_event()) return true;
    if (key_ == "ph") phase_ = text;
    if (key_ == "cat") category_ = text;
    if (key_ == "name") name_ = text;
    return true;
  }
  bool key(string_t& text) {
    key_ = text;
    if (depth_ == 1) root_key_ = text;
    if (text == "fwd_start" || text == "fwd" || text == "iterations") content_.has_intervals = true;
    return true;
  }
  bool start_object(std::size_t) {
    ++depth_;
    if (depth_ == event_depth() && is_in_events()) begin_event();
    return true;
  }
  bool end_object() {
    if (in_event()) end_event();
    --depth_;
    return true;
  }
  bool start_array(std::size_t) {
    ++depth_;
    if (depth_ == 1) root_is_list_ = true;
    if (depth_ == event_depth() - 1 && is_in_events()) content_.has_events = true;
    return true;
  }
  bool end_array() {
    --depth_;
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) {
    error_at_ = position;
    return false;
  }

  std::size_t error_at() const { return error_at_; }

 private:
  int event_depth() const { return root_is_list_ ? 2 : 3; }
  bool is_in_events() const { return root_is_list_ || root_key_ == "traceEvents"; }
  bool in_event() const { return depth_ == event_depth() && is_in_events(); }

  void begin_event() {
    phase_.clear();
    category_.clear();
    name_.clear();
    begin_us_ = length_us_ = 0;
    thread_ = 0;
  }

  bool number(double value) {
    if (in_event()) {
      if (key_ == "ts") begin_us_ = value;
      if (key_ == "dur") length_us_ = value;
      if (key_ == "tid") thread_ = std::abs(value) < 1e15 ? static_cast<std::int64_t>(value) : 0;
    } else if (depth_ == 2 && root_key_ == "distributedInfo") {
      const bool whole = value >= 0 && value < 1e7;
      if (key_ == "rank" && whole) content_.rank = static_cast<int>(value);
      if (key_ == "world_size" && whole) content_.world = static_cast<int>(value);
    }
    return true;
  }

  void keep(std::vector<TraceSlice>& slices) {
    if (slices.size() == kMostAnnotations) {
      content_.is_cut = true;
      return;
    }
    slices.push_back({name_.substr(0, 256), thread_, begin_us_, begin_us_ + length_us_});
  }

  void keep_host_op() {
    if (content_.host_ops.size() == kMostHostOps) {
      content_.is_cut = true;
      return;
    }
    content_.host_ops.push_back(
        {thread_, begin_us_, static_cast<float>(length_us_), sort_of(name_)});
  }

  void end_event() {
    ++content_.events;
    if (phase_ != "X") return;
    if (category_ == "kernel") {
      ++content_.kernels;
      if (is_transfer_kernel(name_) && content_.transfer_kernels_us.size() < kMostAnnotations)
        content_.transfer_kernels_us.push_back(length_us_);
    } else if (category_ == "cpu_op") {
      keep_host_op();
    } else if (category_ == "gpu_user_annotation" && is_pipeline_annotation(name_)) {
      keep(content_.device);
    } else if (is_pipeline_annotation(name_)) {
      keep(content_.host);
    } else if (name_ == "gloo:recv") {
      keep(content_.receives);
    }
  }

  TraceContent& content_;
  int depth_ = 0;
  bool root_is_list_ = false;
  std::string root_key_, key_, phase_, category_, name_;
  double begin_us_ = 0;
  double length_us_ = 0;
  std::int64_t thread_ = 0;
  std::size_t error_at_ = 0;
};

Diagnostic at_byte(const std::string& file, std::uint64_t byte, const std::string& what) {
  SourceSpan where;
  where.file = file;
  return input_error(fmt::format("the trace {} (at byte {})", what, byte),
                     "was it copied whole, and written to its end?", where);
}

}  // namespace

Result<TraceContent> read_trace(ByteSource source, const std::string& file) {
  TraceContent content;
  TraceReader reader(content);
  if (source.ended() && source.fault().empty()) return fail(at_byte(file, 0, "is empty"));
  const bool parsed = Json::sax_parse(ByteIterator(source), ByteIterator(), &reader);
  if (!source.fault().empty()) return fail(at_byte(file, source.offset(), source.fault()));
  if (parsed) return content;
  if (source.ended()) return fail(at_byte(file, source.offset(), "is cut off"));
  return fail(at_byte(file, reader.error_at(), "is not JSON"));
}

}  // namespace pipecast
