#include <fmt/format.h>

#include <algorithm>
#include <iostream>

#include "sim/graph/task_graph.hpp"
#include "sim/read/program_csv.hpp"
#include "tools/commands.hpp"
#include "tools/console.hpp"
#include "tools/output_file.hpp"
#include "tools/schedule_arguments.hpp"
#include "tools/schedule_gallery.hpp"
#include "tools/schedule_show.hpp"

namespace pipecast {
namespace {

std::string_view backward_word(BackwardKind kind) {
  switch (kind) {
    case BackwardKind::None:
      return "none";
    case BackwardKind::Full:
      return "whole";
    case BackwardKind::Split:
      return "split";
  }
  return "?";
}

ExitCode act_list(const CLI::App&, const Session& session) {
  const int width = terminal_width();
  for (const ScheduleInfo& info : session.schedules) {
    const std::string chunks =
        info.default_chunks == 1 ? "1 chunk" : fmt::format("{} chunks", info.default_chunks);
    std::cout << info.name << "\n"
              << wrapped(info.summary, 4, width)
              << wrapped(fmt::format("backward {}, {} per rank; {}", backward_word(info.backward),
                                     chunks, info.provenance),
                         4, width);
    for (const FieldInfo& field : info.fields)
      std::cout << wrapped(
          fmt::format("--param {}={}: {}", field.name, field.default_text, field.help), 8, width);
  }
  return ExitCode::Done;
}

void declare_export(CLI::App& app) {
  declare_schedule_options(app);
  value_option(app, "-o,--output", "F.csv", "the file to write (default: the standard output)");
  flag_option(app, "--comms", "spell out sends and receives, in PyTorch's order");
}

ExitCode act_export(const CLI::App& app, const Session& session) {
  const auto query = schedule_query(app, session);
  if (!query) return query.error();
  Result<Program> program = program_of(*query);
  if (program && given(app, "--comms")) program = lower_pytorch_send_receive(*program);
  if (!program) return report_faults(program.error());
  const Result<void> written =
      write_output(text_of(app, "--output").value_or("-"),
                   [&](std::ostream& out) { out << write_program_csv(*program); });
  return written ? ExitCode::Done : report_faults(written.error());
}

void declare_check_csv(CLI::App& app) {
  value_option(app, "file", "F.csv", "a schedule in PyTorch's notation")->required();
  value_option(app, "--dialect", "WORD",
               "compute_only: F, B, I, W (default); compute_comms: sends and receives too")
      ->check(CLI::IsMember({"compute_only", "compute_comms"}));
}

SourceSpan in_file(const std::string& file) {
  SourceSpan span;
  span.file = file;
  return span;
}

/// Messages between two ranks that are listed in different orders meet the wrong partner.
Diagnostics mismatched_orders(const Program& program, const std::string& file) {
  Diagnostics faults;
  for (const OrderMismatch& mismatch : order_mismatches(program))
    faults.push_back(infeasible(
        fmt::format("rank {} sends {} where rank {} expects {}: messages between two ranks must "
                    "be listed in one order",
                    mismatch.sender.value, op_text(mismatch.sent), mismatch.receiver.value,
                    op_text(mismatch.received)),
        {}, in_file(file)));
  return faults;
}

/// Whether the program can finish; the graph says which ranks and cells are blocked if not.
Diagnostics cannot_finish(const Program& program, TransferPolicy policy, const std::string& file) {
  const Workload workload = uniform_workload(program.shape, {Seconds{1}, Seconds{1}, Seconds{1}});
  const Platform platform = constant_delay_platform(program.shape.ranks, Seconds{0});
  std::vector<DeviceId> devices;
  for (int rank = 0; rank < program.shape.ranks; ++rank) devices.push_back({rank});
  const Result<TaskGraph> graph = build_task_graph(program, workload, platform, devices, policy);
  return graph ? Diagnostics{} : located(graph.error(), in_file(file));
}

ExitCode act_check_csv(const CLI::App& app, const Session&) {
  const std::string file = *text_of(app, "file");
  const bool comms = text_of(app, "--dialect") == "compute_comms";
  const CsvDialect dialect = comms ? CsvDialect::ComputeComms : CsvDialect::ComputeOnly;
  const Result<Program> program = read_program_csv_file(file, dialect);
  if (!program) return report_faults(program.error());
  Diagnostics faults = comms ? check_transfers(*program) : Diagnostics{};
  if (comms && faults.empty()) faults = mismatched_orders(*program, file);
  if (faults.empty())
    faults =
        cannot_finish(*program, comms ? TransferPolicy::Posted : TransferPolicy::Overlapped, file);
  if (!faults.empty()) return report_faults(located(std::move(faults), in_file(file)));
  std::size_t operations = 0;
  for (const auto& ops : program->ranks) operations += ops.size();
  const Shape& shape = program->shape;
  std::cout << fmt::format(
      "{}: ok, {} ranks, {} chunk{} per rank, {} microbatches, {} operations\n", file, shape.ranks,
      shape.chunks, shape.chunks == 1 ? "" : "s", shape.microbatches, operations);
  if (comms)
    if (const Diagnostics stuck = cannot_finish(*program, TransferPolicy::Fifo, file);
        !stuck.empty())
      std::cout << "note: with transfers: fifo, every message in the order of the file on one "
                   "communicator, it can never finish:\n"
                << render(stuck);
  return ExitCode::Done;
}

}  // namespace

Command schedule_command() {
  return {.name = "schedule",
          .summary = "the catalogue of schedules: list, draw, write and check them",
          .example = "pipecast schedule show 1f1b -p 4 -m 8",
          .subcommands = {
              {.name = "list",
               .summary = "every schedule, with its parameters",
               .example = "pipecast schedule list",
               .act = act_list},
              schedule_show_command(),
              schedule_gallery_command(),
              {.name = "export",
               .summary = "write a schedule as PyTorch's CSV",
               .example = "pipecast schedule export gpipe -p 4 -m 8 -o gpipe.csv",
               .declare = declare_export,
               .act = act_export},
              {.name = "check",
               .summary = "read a schedule CSV and report every violation",
               .example = "pipecast schedule check gpipe.csv",
               .declare = declare_check_csv,
               .act = act_check_csv},
          }};
}

}  // namespace pipecast
