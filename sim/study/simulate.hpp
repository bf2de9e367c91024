#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/diagnostic.hpp"
#include "sim/graph/fabric_traffic.hpp"
#include "sim/graph/replicated_graph.hpp"
#include "sim/graph/task_graph.hpp"
#include "sim/model/timeline.hpp"
#include "sim/read/scenario.hpp"
#include "sim/report/delays.hpp"
#include "sim/report/run_view.hpp"
#include "sim/report/summary.hpp"

namespace pipecast {

enum class Engine : std::uint8_t {
  Simgrid,      ///< links are shared
  LongestPath,  ///< links are not shared; microseconds per run
};

std::string_view engine_name(Engine engine);

/// A scenario put together: schedule, costs, machine and the graph of all three, ready for an
/// evaluator.
struct PreparedRun {
  std::string scenario;
  std::string schedule;
  Program program;
  Workload workload;
  Platform platform;
  TaskGraph graph;
  std::vector<std::string> warnings;
  Imperfections imperfections;
  TransferPolicy transfers = TransferPolicy::Overlapped;  ///< what the graph was built under
  std::optional<StepBound> lower_bound;                   ///< of schedules that search
  std::optional<ReplicatedGraph> replicas;  ///< what is run, when the layout has several; `graph`
                                            ///< is then what it shows
  std::optional<ModelRun> model;            ///< where the workload comes from a model
  FabricTraffic traffic;                    ///< of all replicas
  std::vector<Bytes> capacities;            ///< [rank] rank_capacities()
};

/// A prepared run and what came out of it.
struct FinishedRun {
  PreparedRun prepared;
  Engine engine = Engine::Simgrid;
  Timeline timeline;
  Summary summary;
  std::optional<Delays> delays;           ///< of imperfect machines
  std::optional<StepEstimate> estimate;   ///< with a model
  std::vector<RankFootprint> footprints;  ///< [rank] with a model

  RunView view() const;
};

/// The machine a scenario names.
Result<Platform> platform_of(const Scenario& scenario, const ReadContext& context);

/// A machine with the slow devices, slow ranks and degraded links of the scenario. Errors: those of
/// imperfect() and in_step(), and fewer devices than the layout spans.
Result<Platform> with_imperfections(const Scenario& scenario, Platform platform);

/// A scenario's schedule on the devices of its layout, before anybody says when an operation runs.
struct OrderedProgram {
  Program program;
  Workload workload;              ///< fitted to the program
  std::vector<DeviceId> devices;  ///< of the whole layout, in its order
};

/// The scenario's schedule for a machine that is there already: platform_of(), or a variation of
/// it.
Result<OrderedProgram> order(const Scenario& scenario, const ReadContext& context,
                             const Platform& platform);

/// Its graph.
struct PlacedProgram {
  Program program;
  Workload workload;
  TaskGraph graph;  ///< of one pipeline: of its replicas the one that is shown
  std::optional<ReplicatedGraph> replicas;  ///< what is run, when several bear upon it
};

/// For the longest path, whose links nobody shares, replicas that exchange nothing are left out
/// where all compute alike.
Result<PlacedProgram> place(OrderedProgram ordered, const Scenario& scenario,
                            const Platform& platform, Engine engine);

/// Everything but running: constraints, divisibility, routes, deadlock.
Result<PreparedRun> prepare(const Scenario& scenario, const ReadContext& context);

/// Runs it. Messages that stood behind others in a queue become warnings.
Result<FinishedRun> execute(PreparedRun prepared, Engine engine);

/// prepare, then execute.
Result<FinishedRun> simulate(const Scenario& scenario, const ReadContext& context, Engine engine);

}  // namespace pipecast
