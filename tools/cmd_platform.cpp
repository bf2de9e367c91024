#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <iostream>

#include "sim/read/accelerator.hpp"
#include "sim/read/platform_preset.hpp"
#include "sim/read/platform_xml.hpp"
#include "sim/report/topology.hpp"
#include "sim/study/ping.hpp"
#include "tools/commands.hpp"
#include "tools/console.hpp"
#include "tools/output_file.hpp"
#include "tools/platform_arguments.hpp"
#include "tools/platform_text.hpp"
#include "tools/scenario_arguments.hpp"

namespace pipecast {
namespace {

constexpr std::array kCollectives{Collective::AllReduce, Collective::ReduceScatter,
                                  Collective::AllGather, Collective::AllToAll,
                                  Collective::Broadcast};
constexpr std::array kAlgorithms{CollectiveAlgorithm::Automatic,    CollectiveAlgorithm::Ring,
                                 CollectiveAlgorithm::Tree,         CollectiveAlgorithm::Direct,
                                 CollectiveAlgorithm::Hierarchical, CollectiveAlgorithm::InSwitch};

void declare_list(CLI::App& app) {
  declare_presets_option(app);
  flag_option(app, "--fields", "also the fields of every kind");
}

ExitCode act_list(const CLI::App& app, const Session& plain_session) {
  const Session session = with_presets(app, plain_session);
  std::cout << "kinds of fabric\n";
  for (const PlatformKind& kind : session.platform_kinds) {
    std::cout << fmt::format("  {:<16} {}\n", kind.name, kind.summary);
    if (!given(app, "--fields")) continue;
    for (const FieldInfo& field : kind.fields)
      std::cout << fmt::format("    {:<30} {:<10} {}\n", field.name, field.default_text,
                               field.help);
  }
  std::cout << "presets\n";
  for (const std::string& name : platform_preset_names(session.preset_folders)) {
    const auto preset = find_platform_preset(name, session.preset_folders, session.platform_kinds);
    if (!preset) return report_faults(preset.error());
    std::cout << fmt::format("  {:<18} {}\n", name, preset->description);
  }
  const Result<std::string> accelerators = accelerator_table(session.preset_folders);
  if (!accelerators) return report_faults(accelerators.error());
  std::cout << *accelerators;
  return ExitCode::Done;
}

void declare_show(CLI::App& app) {
  declare_platform_options(app);
  value_option(app, "--svg", "F.svg", "also draw the topology into this file");
  value_option(app, "--xml", "F.xml", "also write it as a SimGrid platform file");
  flag_option(app, "--sources",
              "instead: every number of a preset, how sure it is, and its source");
}

ExitCode show_sources(const CLI::App& app, const Session& session) {
  const Result<PlatformPreset> preset = find_platform_preset(
      *text_of(app, "platform"), session.preset_folders, session.platform_kinds);
  if (!preset) return report_faults(preset.error());
  std::cout << sources_text(*preset);
  return ExitCode::Done;
}

bool contains(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

ExitCode show_accelerator(const CLI::App& app, const std::string& name, const Session& session) {
  for (const char* option : {"--svg", "--xml", "--set", "--sources"})
    if (given(app, option))
      return report_usage(fmt::format("{} is an accelerator, {} is for platforms", name, option));
  const auto accelerator = find_accelerator(name, session.preset_folders);
  if (!accelerator) return report_faults(accelerator.error());
  std::cout << accelerator_text(*accelerator);
  return ExitCode::Done;
}

ExitCode act_show(const CLI::App& app, const Session& plain_session) {
  if (const auto overrides = overrides_of(app); !overrides) return report_usage(overrides.error());
  const Session session = with_presets(app, plain_session);
  const std::string name = *text_of(app, "platform");
  const bool is_accelerator = contains(accelerator_ids(session.preset_folders), name);
  const bool is_preset = contains(platform_preset_names(session.preset_folders), name);
  if (is_accelerator && !is_preset) return show_accelerator(app, name, session);
  if (given(app, "--sources")) return show_sources(app, session);
  const Result<Platform> platform = platform_of(app, plain_session);
  if (!platform) return report_faults(platform.error());
  if (const auto path = text_of(app, "--svg")) {
    const Result<void> written =
        write_output(*path, [&](std::ostream& out) { out << topology_svg(*platform); });
    if (!written) return report_faults(written.error());
  }
  if (const auto path = text_of(app, "--xml")) {
    const Result<std::string> xml = write_platform_xml(*platform);
    if (!xml) return report_faults(xml.error());
    const Result<void> written = write_output(*path, [&](std::ostream& out) { out << *xml; });
    if (!written) return report_faults(written.error());
  }
  std::cout << topology_text(*platform);
  if (is_accelerator)
    std::cout << fmt::format("an accelerator has the same name: {} is also the system as one\n",
                             name);
  return ExitCode::Done;
}

/// The faults of a value, with its option in front.
Diagnostics located_in(std::string_view option, Diagnostics faults) {
  for (Diagnostic& fault : faults) fault.message = fmt::format("{}: {}", option, fault.message);
  return faults;
}

template <class Values, class NameOf>
std::vector<std::string> words_of(const Values& values, NameOf name_of) {
  std::vector<std::string> words;
  for (const auto value : values) words.emplace_back(name_of(value));
  return words;
}

void declare_ping(CLI::App& app) {
  declare_platform_options(app);
  value_option(app, "from", "A", "the device that sends, by number or name");
  value_option(app, "to", "B", "the device that receives");
  value_option(app, "--bytes", "FROM-TO", "message sizes, doubling (default 1B-1GiB)");
  value_option(app, "--collective", "KIND", "a collective over --group instead of one message")
      ->check(CLI::IsMember(words_of(kCollectives, collective_name)));
  value_option(app, "--group", "0-7", "its devices (default: all)");
  value_option(app, "--algorithm", "WORD", "its algorithm (default: automatic)")
      ->check(CLI::IsMember(words_of(kAlgorithms, algorithm_name)));
  value_option(app, "--engine", "WORD", "simgrid (default) or longest-path")
      ->check(CLI::IsMember({"simgrid", "longest-path"}));
}

template <class Values, class NameOf>
auto value_of_word(const Values& values, NameOf name_of, const std::optional<std::string>& word) {
  const auto found = std::find_if(values.begin(), values.end(),
                                  [&](const auto value) { return name_of(value) == word; });
  return found == values.end() ? values.front() : *found;
}

ExitCode ping_pair(const CLI::App& app, const Platform& platform, std::span<const Bytes> sizes,
                   Engine engine) {
  if (!given(app, "to"))
    return report_usage("name two devices, or a --collective: pipecast platform ping PRESET 0 8");
  const Result<DeviceId> from = device_of(*text_of(app, "from"), platform);
  if (!from) return report_faults(from.error());
  const Result<DeviceId> to = device_of(*text_of(app, "to"), platform);
  if (!to) return report_faults(to.error());
  const auto points = ping(platform, *from, *to, sizes, engine);
  if (!points) return report_faults(points.error());
  std::cout << fmt::format("{} to {} on {}\n{:>10} {:>12} {:>12}\n",
                           platform.devices[from->at()].name, platform.devices[to->at()].name,
                           platform.name, "size", "time", "bandwidth");
  for (const PingPoint& point : *points)
    std::cout << fmt::format("{:>10} {:>12} {:>12}\n", format(point.bytes), format(point.time),
                             format(point.bandwidth));
  return ExitCode::Done;
}

ExitCode ping_group(const CLI::App& app, const Platform& platform, std::span<const Bytes> sizes,
                    Engine engine) {
  CollectiveRequest request;
  request.kind = value_of_word(kCollectives, collective_name, text_of(app, "--collective"));
  request.algorithm = value_of_word(kAlgorithms, algorithm_name, text_of(app, "--algorithm"));
  const std::string everyone = fmt::format("0-{}", platform.devices.size() - 1);
  const auto group = parse_devices(text_of(app, "--group").value_or(everyone), platform);
  if (!group) return report_usage(located_in("--group", group.error()));
  request.group = *group;
  const auto points = ping_collective(platform, request, sizes, engine);
  if (!points) return report_faults(points.error());
  std::cout << fmt::format("{} over {} devices on {}\n{:>10} {:>12} {:>12} {:>12}  {}\n",
                           collective_name(request.kind), request.group.size(), platform.name,
                           "size", "time", "alg. bw", "bus bw", "algorithm");
  for (const CollectivePoint& point : *points)
    std::cout << fmt::format("{:>10} {:>12} {:>12} {:>12}  {}\n", format(point.bytes),
                             format(point.time), format(point.algorithm_bandwidth),
                             format(point.bus_bandwidth), algorithm_name(point.algorithm));
  return ExitCode::Done;
}

ExitCode act_ping(const CLI::App& app, const Session& session) {
  if (const auto overrides = overrides_of(app); !overrides) return report_usage(overrides.error());
  const auto sizes = parse_sizes(text_of(app, "--bytes").value_or("1B-1GiB"));
  if (!sizes) return report_usage(located_in("--bytes", sizes.error()));
  const Result<Platform> platform = platform_of(app, session);
  if (!platform) return report_faults(platform.error());
  const Engine engine =
      text_of(app, "--engine") == "longest-path" ? Engine::LongestPath : Engine::Simgrid;
  if (given(app, "--collective")) return ping_group(app, *platform, *sizes, engine);
  return ping_pair(app, *platform, *sizes, engine);
}

}  // namespace

Command platform_command() {
  return {
      .name = "platform",
      .summary = "accelerators, fabrics and presets: list, draw and measure them",
      .example = "pipecast platform ping dgx-h100-ib 0 8",
      .subcommands = {
          {.name = "list",
           .summary = "every kind of fabric, preset and accelerator",
           .example = "pipecast platform list --fields",
           .declare = declare_list,
           .act = act_list},
          {.name = "show",
           .summary = "devices, levels and links of one platform, or the record of an accelerator",
           .example = "pipecast platform show dgx-h100-ib --set nodes=4 --svg cluster.svg",
           .declare = declare_show,
           .act = act_show},
          {.name = "ping",
           .summary = "latency and bandwidth between two devices, or of a collective",
           .example = "pipecast platform ping h100-nvlink-node --collective all-reduce "
                      "--group 0-7 --bytes 1MiB-16GiB",
           .declare = declare_ping,
           .act = act_ping},
      }};
}

}  // namespace pipecast
