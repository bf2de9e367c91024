#include "sim/read/kernel_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "sim/read/accelerator.hpp"
#include "sim/read/yaml_cursor.hpp"

namespace pipecast {
namespace {

constexpr double kLargestSize = 1e9;

FieldInfo number_field(std::string name, double minimum, double maximum) {
  return {std::move(name), FieldKind::Number, minimum, maximum, {}, {}, {}};
}

std::string text_of(const YamlCursor& map, std::string_view key) {
  const auto given = map.require(key);
  return given ? given->text().value_or("") : std::string{};
}

std::optional<Figure> read_fact(const YamlCursor& root, std::string_view key,
                                const FieldInfo& field) {
  const auto node = root.find(key);
  if (!node || !node->expect_map({"value", "source", "certainty", "note"})) return std::nullopt;
  Figure figure;
  if (const auto value = node->require("value"))
    if (const auto number = value->field(field)) figure.value = std::get<double>(*number);
  figure.source = text_of(*node, "source");
  if (const auto note = node->find("note")) figure.note = note->text().value_or("");
  const std::vector<std::string> words(kCertaintyWords.begin(), kCertaintyWords.end());
  const auto given = node->require("certainty");
  if (const auto word = given ? given->choice(words) : std::nullopt)
    figure.certainty =
        static_cast<Certainty>(std::find(words.begin(), words.end(), *word) - words.begin());
  return figure;
}

std::optional<GemmPass> gemm_pass(const YamlCursor& given) {
  const std::array<std::string, 3> words{"forward", "input", "weight"};
  const auto word = given.choice(words);
  if (!word) return std::nullopt;
  const auto found = std::find(words.begin(), words.end(), *word);
  return static_cast<GemmPass>(found - words.begin());
}

void read_row(const YamlCursor& row, KernelFacts& facts) {
  if (!row.is_list() || row.size() != 6) {
    row.fault("a row is [m, k, n, groups, pass, fraction]");
    return;
  }
  GemmSample sample;
  const FieldInfo size = number_field("size", 1, kLargestSize);
  const std::array<double GemmSample::*, 4> sizes{&GemmSample::m, &GemmSample::k, &GemmSample::n,
                                                  &GemmSample::groups};
  bool good = true;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto value = row.item(i).field(size);
    if (value) sample.*sizes[i] = std::get<double>(*value);
    good = good && value;
  }
  const auto pass = gemm_pass(row.item(4));
  const auto fraction = row.item(5).field(number_field("fraction", 1e-4, 1));
  if (!good || !pass || !fraction) return;
  sample.pass = *pass;
  sample.fraction = std::get<double>(*fraction);
  facts.gemm.push_back(sample);
}

void read_gemm(const YamlCursor& gemm, KernelFacts& facts) {
  if (!gemm.expect_map({"source", "rows"})) return;
  facts.gemm_source = text_of(gemm, "source");
  const auto rows = gemm.require("rows");
  if (!rows) return;
  if (!rows->is_list()) {
    rows->fault("rows must be a list of [m, k, n, groups, pass, fraction]");
    return;
  }
  for (std::size_t i = 0; i < rows->size(); ++i) read_row(rows->item(i), facts);
}

void read_attention_row(const YamlCursor& row, KernelFacts& facts) {
  if (!row.is_list() || row.size() != 6) {
    row.fault("a row is [pass, sequence, heads, query width, value width, fraction]");
    return;
  }
  AttentionSample sample;
  const std::array<std::string, 2> passes{"forward", "backward"};
  const auto pass = row.item(0).choice(passes);
  const FieldInfo size = number_field("size", 1, kLargestSize);
  const std::array<double AttentionSample::*, 4> sizes{
      &AttentionSample::sequence, &AttentionSample::heads, &AttentionSample::query_width,
      &AttentionSample::value_width};
  bool good = pass.has_value();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto value = row.item(i + 1).field(size);
    if (value) sample.*sizes[i] = std::get<double>(*value);
    good = good && value;
  }
  const auto fraction = row.item(5).field(number_field("fraction", 1e-4, 1));
  if (!good || !fraction) return;
  sample.pass = *pass == passes[0] ? AttentionPass::Forward : AttentionPass::Backward;
  sample.fraction = std::get<double>(*fraction);
  facts.attention.push_back(sample);
}

void read_attention(const YamlCursor& attention, KernelFacts& facts) {
  if (!attention.expect_map({"source", "rows"})) return;
  facts.attention_source = text_of(attention, "source");
  const auto rows = attention.require("rows");
  if (!rows) return;
  if (!rows->is_list()) {
    rows->fault(
        "rows must be a list of [pass, sequence, heads, query width, value width, fraction]");
    return;
  }
  for (std::size_t i = 0; i < rows->size(); ++i) read_attention_row(rows->item(i), facts);
}

}  // namespace

Result<KernelFacts> read_kernel_facts(std::string_view text, const std::string& file) {
  const auto document = parse_yaml(text, file);
  if (!document) return fail(document.error());
  FaultList faults;
  const YamlCursor root = YamlCursor::root(*document, faults);
  KernelFacts facts;
  if (!root.expect_map({"peak_bf16",
                        "peak_fp8",
                        "peak_fp4",
                        "matmul_bf16",
                        "matmul_fp8",
                        "matmul_fp4",
                        "memory",
                        "kernel_gap",
                        "host_launch",
                        "operation",
                        "blocking_launch",
                        "unaligned",
                        "attention_forward",
                        "attention_backward",
                        "flash2_forward",
                        "flash2_backward",
                        "flash1_forward",
                        "flash1_backward",
                        "multiprocessors",
                        "permutation",
                        "gemm",
                        "attention"}))
    return fail(faults.take(file));
  const FieldInfo fraction = number_field("fraction", 1e-3, 1);
  const FieldInfo time{"time", FieldKind::Time, 0, 1, {}, {}, {}};
  const FieldInfo rate{"rate", FieldKind::Compute, 1, 1e18, {}, {}, {}};
  facts.peak = {read_fact(root, "peak_bf16", rate), read_fact(root, "peak_fp8", rate),
                read_fact(root, "peak_fp4", rate)};
  facts.matmul = {read_fact(root, "matmul_bf16", fraction), read_fact(root, "matmul_fp8", fraction),
                  read_fact(root, "matmul_fp4", fraction)};
  facts.memory = read_fact(root, "memory", fraction);
  facts.kernel_gap = read_fact(root, "kernel_gap", time);
  facts.host_launch = read_fact(root, "host_launch", time);
  facts.operation = read_fact(root, "operation", time);
  facts.blocking_launch = read_fact(root, "blocking_launch", time);
  facts.unaligned = read_fact(root, "unaligned", fraction);
  facts.attention_forward = read_fact(root, "attention_forward", fraction);
  facts.attention_backward = read_fact(root, "attention_backward", fraction);
  facts.flash2_forward = read_fact(root, "flash2_forward", fraction);
  facts.flash2_backward = read_fact(root, "flash2_backward", fraction);
  facts.flash1_forward = read_fact(root, "flash1_forward", fraction);
  facts.flash1_backward = read_fact(root, "flash1_backward", fraction);
  facts.multiprocessors = read_fact(root, "multiprocessors", number_field("count", 1, 1e5));
  facts.permutation = read_fact(root, "permutation", fraction);
  if (const auto gemm = root.find("gemm")) read_gemm(*gemm, facts);
  if (const auto attention = root.find("attention")) read_attention(*attention, facts);
  if (!faults.empty()) return fail(faults.take(file));
  return facts;
}

Result<KernelFacts> find_kernel_facts(const std::string& id,
                                      std::span<const std::string> preset_folders) {
  for (const std::string& folder : preset_folders) {
    const auto path = std::filesystem::path(folder) / "kernels" / (id + ".yaml");
    std::error_code error;
    if (!std::filesystem::exists(path, error)) continue;
    const auto text = read_text_file(path.string(), kMaxYamlBytes);
    if (!text) return fail(text.error());
    return read_kernel_facts(*text, path.string());
  }
  return KernelFacts{};
}

Result<DeviceModel> find_device_model(const std::string& accelerator,
                                      std::span<const std::string> preset_folders) {
  const Result<Accelerator> found = find_accelerator(accelerator, preset_folders);
  if (!found) return fail(found.error());
  const Result<KernelFacts> facts = find_kernel_facts(accelerator, preset_folders);
  if (!facts) return fail(facts.error());
  return device_model(*found, *facts);
}

}  // namespace pipecast
