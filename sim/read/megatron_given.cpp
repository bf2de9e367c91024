#include "sim/read/megatron_given.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "sim/base/quantity.hpp"

namespace pipecast {
namespace {

/// In the program, as Megatron saves and prints it, and on the command line.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kProgramNames{{
    {"microbatch-group-size-per-vp-stage", "microbatch-group-size-per-virtual-pipeline-stage"},
    {"virtual-pipeline-model-parallel-size", "num-virtual-stages-per-pipeline-rank"},
    {"fp8", "fp8-format"},
    {"fp4", "fp4-format"},
}};

/// A choice as Python prints it: `AttnBackend.auto`, `torch.bfloat16`.
std::string printed_choice(std::string_view word, const std::string& fallback,
                           std::span<const std::string> allowed) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kTypes{
      {{"torch.bfloat16", "bf16"},
       {"torch.float16", "fp16"},
       {"torch.float32", "fp32"},
       {"torch.uint8", "fp8"}}};
  for (const std::string& choice : allowed) {
    if (word.find("." + choice) != std::string_view::npos) return choice;
    for (const auto& [printed, meant] : kTypes)
      if (word == printed && meant == choice) return choice;
  }
  return fallback;
}

}  // namespace

MegatronArguments::MegatronArguments(MegatronWords words) : dumped_(!words.command_line) {
  for (MegatronArgument& argument : words.arguments) {
    std::string name = argument.name;
    arguments_[std::move(name)] = std::move(argument);
  }
  if (!dumped_) return;
  for (const auto& [inside, outside] : kProgramNames) {
    const auto found = arguments_.find(inside);
    if (found == arguments_.end()) continue;
    MegatronArgument argument = std::move(found->second);
    arguments_.erase(found);
    arguments_.try_emplace(std::string(outside), std::move(argument));
  }
  if (arguments_.contains("num-virtual-stages-per-pipeline-rank"))
    arguments_.erase("num-layers-per-virtual-pipeline-stage");
}

const MegatronArgument* MegatronArguments::find(const std::string& name) {
  asked_.insert(name);
  const auto found = arguments_.find(name);
  return found == arguments_.end() ? nullptr : &found->second;
}

bool MegatronArguments::flag(const std::string& name) {
  const MegatronArgument* argument = find(name);
  if (argument == nullptr) return false;
  const std::string word = argument->values.empty() ? std::string{} : argument->values.front();
  return word != "false" && word != "False" && word != "0";
}

int MegatronArguments::integer(const std::string& name, int fallback, int minimum, int maximum) {
  const MegatronArgument* argument = find(name);
  if (argument == nullptr) return fallback;
  if (faulty(name)) return fallback;  // said already
  const std::string word = text(name);
  const auto number = parse_integer(word);
  if (number && *number >= minimum && *number <= maximum) return static_cast<int>(*number);
  fault(name,
        fmt::format("--{} is '{}', an integer from {} to {} is needed", name, shown(word), minimum,
                    maximum),
        number ? "" : "arithmetic and commands of the shell are not carried out");
  return fallback;
}

double MegatronArguments::number(const std::string& name, double fallback, double minimum,
                                 double maximum) {
  if (find(name) == nullptr) return fallback;
  const std::string word = text(name);
  const auto number = parse_number(word);
  if (number && *number >= minimum && *number <= maximum) return *number;
  fault(name, fmt::format("--{} is '{}', a number from {} to {} is needed", name, shown(word),
                          minimum, maximum));
  return fallback;
}

std::string MegatronArguments::text(const std::string& name, const std::string& fallback) {
  const MegatronArgument* argument = find(name);
  return argument == nullptr || argument->values.empty() ? fallback : argument->values.front();
}

std::string MegatronArguments::choice(const std::string& name, const std::string& fallback,
                                      std::span<const std::string> allowed) {
  if (find(name) == nullptr) return fallback;
  const std::string word = text(name);
  if (std::find(allowed.begin(), allowed.end(), word) != allowed.end()) return word;
  if (dumped_) return printed_choice(word, fallback, allowed);
  fault(name, fmt::format("--{} is '{}'", name, shown(word)), suggest(word, allowed));
  return fallback;
}

std::vector<std::string> MegatronArguments::texts(const std::string& name) {
  const MegatronArgument* argument = find(name);
  if (argument == nullptr) return {};
  if (argument->values.size() != 1 || !argument->values.front().starts_with("["))
    return argument->values;
  std::vector<std::string> words(1);  // a list as Python prints it
  for (const char c : argument->values.front()) {
    if (c == ',') words.emplace_back();
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '+') words.back() += c;
  }
  return words;
}

void MegatronArguments::fault(const std::string& name, std::string message, std::string hint) {
  const auto found = arguments_.find(name);
  const SourceSpan where = found == arguments_.end() ? SourceSpan{} : found->second.where;
  faulty_.insert(name);
  faults_.add(input_error(std::move(message), std::move(hint), where));
}

std::vector<std::string> MegatronArguments::unread() const {
  std::vector<std::string> names;
  for (const auto& [name, argument] : arguments_)
    if (!asked_.contains(name)) names.push_back(name);
  return names;
}

}  // namespace pipecast
