#include "sim/study/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <optional>
#include <queue>

#include "sim/read/study_candidate.hpp"
#include "sim/study/evaluator.hpp"
#include "sim/study/pool.hpp"
#include "sim/study/ranking.hpp"

namespace pipecast {
namespace {

/// Raised whenever rows of the same study would come out differently.
constexpr std::string_view kResultsVersion = "pipecast.study/2";

class Fnv {
 public:
  void add(std::string_view text) {
    for (const char byte : text) step(static_cast<unsigned char>(byte));
    step(0xFF);  // "ab" + "c" is not "a" + "bc"
  }
  std::string hex() const { return fmt::format("{:016x}", hash_); }

 private:
  void step(unsigned char byte) { hash_ = (hash_ ^ byte) * 0x100000001b3ULL; }
  std::uint64_t hash_ = 0xcbf29ce484222325ULL;
};

void add_axes(Fnv& hash, const std::vector<Axis>& axes) {
  for (const Axis& axis : axes) {
    hash.add("axis");
    for (const std::string& key : axis.keys) hash.add(key);
    for (const auto& entry : axis.entries)
      for (const YamlNode& value : entry) hash.add(flow_text(value));
  }
}

/// Collects rows and gives them to the store a few times a second, in one transaction each.
class Writer {
 public:
  explicit Writer(Store& store) : store_(store) {}

  Result<void> take(StudyRow row) {
    rows_.push_back(std::move(row));
    const auto now = std::chrono::steady_clock::now();
    if (rows_.size() < kMostRows && now - last_ < std::chrono::milliseconds(200)) return {};
    return flush();
  }
  Result<void> flush() {
    last_ = std::chrono::steady_clock::now();
    Result<void> added = store_.add(rows_);
    rows_.clear();
    return added;
  }

 private:
  static constexpr std::size_t kMostRows = 4096;
  Store& store_;
  std::vector<StudyRow> rows_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

class Sweeper {
 public:
  Sweeper(const Study& study, const ReadContext& context, Store& store, const SweepOptions& options)
      : study_(study), context_(context), store_(store), options_(options) {}

  /// Runs the items that the store lacks.
  Result<SweepEnd> run(Tier tier, std::span<const std::int64_t> items, std::int64_t resumed) {
    SweepProgress progress{tier, resumed, resumed + static_cast<std::int64_t>(items.size()),
                           resumed};
    Writer writer(store_);
    std::optional<Evaluator> evaluator;  // made in the worker, where its memory belongs
    const auto work = [&](std::int64_t item) {
      if (!evaluator) evaluator.emplace(study_, context_);
      return to_bytes(evaluator->evaluate(item, tier));
    };
    const auto take = [&](PoolAnswer answer) -> Result<void> {
      ++progress.done;
      return writer.take(row_of(std::move(answer), tier));
    };
    const auto idle = [&] {
      if (options_.progress) options_.progress(progress);
    };
    idle();
    const PoolOptions pool{.jobs = options_.jobs, .stop_descriptor = options_.stop_descriptor};
    const Result<PoolEnd> end = run_in_pool(items, pool, work, take, idle);
    if (!end) return fail(end.error());
    if (Result<void> flushed = writer.flush(); !flushed) return fail(flushed.error());
    idle();
    return *end == PoolEnd::Done ? SweepEnd::Done : SweepEnd::Stopped;
  }

 private:
  static StudyRow row_of(PoolAnswer answer, Tier tier) {
    if (answer.crash.empty()) return row_from_bytes(answer.bytes);
    StudyRow row;
    row.candidate = answer.item;
    row.tier = tier;
    row.state = RowState::Crashed;
    row.reason = "the worker " + answer.crash + ", twice";
    return row;
  }

  const Study& study_;
  const ReadContext& context_;
  Store& store_;
  const SweepOptions& options_;
};

Result<void> adopt(Store& store, const Study& study) {
  const Result<StoreHeader> known = store.header();
  if (!known) return fail(known.error());
  const StoreHeader wanted{fingerprint(study), study.texts};
  if (!known->fingerprint.empty() && known->fingerprint != wanted.fingerprint)
    return fail(input_error(
        fmt::format("'{}' holds rows of another study, or of this one before it was changed",
                    store.path()),
        "name another file with --out; prices, constraints and objectives may change freely"));
  if (*known == wanted) return {};
  return store.set_header(wanted);
}

std::vector<std::int64_t> without(const std::vector<std::int64_t>& all,
                                  const std::vector<std::int64_t>& done) {
  std::vector<std::int64_t> left;
  std::set_difference(all.begin(), all.end(), done.begin(), done.end(), std::back_inserter(left));
  return left;
}

Result<SweepEnd> refine(const Study& study, Sweeper& sweeper, const Store& store) {
  for (;;) {
    const Result<std::vector<StudyRow>> rows = rows_of(study, store);
    if (!rows) return fail(rows.error());
    const RefinementPlan plan = plan_refinement(study, *rows);
    if (plan.missing.empty()) return SweepEnd::Done;
    const auto resumed = static_cast<std::int64_t>(plan.chosen.size() - plan.missing.size());
    const Result<SweepEnd> end = sweeper.run(Tier::Simgrid, plan.missing, resumed);
    if (!end || *end == SweepEnd::Stopped) return end;
  }
}

}  // namespace

std::vector<std::int64_t> shard_candidates(const Study& study, const Shard& shard) {
  const auto count = static_cast<std::size_t>(study.candidates());
  std::vector<std::int64_t> all(count);
  std::iota(all.begin(), all.end(), std::int64_t{0});
  if (shard.count == 1) return all;
  std::vector<double> work;
  work.reserve(count);
  for (const std::int64_t candidate : all)
    work.push_back(estimated_work(study, choice_of(study, candidate)));
  std::stable_sort(all.begin(), all.end(), [&](std::int64_t a, std::int64_t b) {
    return work[static_cast<std::size_t>(a)] > work[static_cast<std::size_t>(b)];
  });
  using Load = std::pair<double, int>;
  std::priority_queue<Load, std::vector<Load>, std::greater<>> loads;
  for (int part = 0; part < shard.count; ++part) loads.emplace(0, part);
  std::vector<std::int64_t> mine;
  for (const std::int64_t candidate : all) {
    auto [load, part] = loads.top();
    loads.pop();
    if (part == shard.index % shard.count) mine.push_back(candidate);
    loads.emplace(load + work[static_cast<std::size_t>(candidate)] + 1, part);
  }
  std::sort(mine.begin(), mine.end());
  return mine;
}

std::string fingerprint(const Study& study) {
  Fnv hash;
  hash.add(kResultsVersion);
  hash.add(flow_text(study.base.root));
  add_axes(hash, study.axes);
  for (const QuotedCluster& cluster : study.clusters) {
    hash.add("cluster");
    hash.add(cluster.name);
    for (const auto& [key, value] : cluster.settings) hash.add(key + "=" + flow_text(value));
    add_axes(hash, cluster.axes);
  }
  for (const auto& [name, text] : study.texts)
    if (name.starts_with("preset:")) hash.add(text);
  hash.add(format_number(study.training.tokens_per_microbatch));
  return hash.hex();
}

Result<std::vector<StudyRow>> rows_of(const Study& study, const Store& store) {
  Result<std::vector<StudyRow>> rows = store.rows();
  if (!rows) return rows;
  if (!rows->empty() && rows->back().candidate >= study.candidates())
    return fail(
        input_error(fmt::format("'{}' holds a row of candidate {}, its study has {} candidates",
                                store.path(), rows->back().candidate, study.candidates()),
                    "run the study again into another file"));
  return rows;
}

Result<SweepEnd> sweep(const Study& study, const ReadContext& context, Store& store,
                       const SweepOptions& options) {
  if (Result<void> adopted = adopt(store, study); !adopted) return fail(adopted.error());
  const Result<std::vector<std::int64_t>> done = store.candidates(Tier::Screening);
  if (!done) return fail(done.error());
  const std::vector<std::int64_t> mine = shard_candidates(study, options.shard);
  const std::vector<std::int64_t> left = without(mine, *done);
  Sweeper sweeper(study, context, store, options);
  const Result<SweepEnd> screened =
      sweeper.run(Tier::Screening, left, static_cast<std::int64_t>(mine.size() - left.size()));
  if (!screened || *screened == SweepEnd::Stopped) return screened;
  return refine(study, sweeper, store);
}

Result<void> merge(Store& target, const std::vector<std::string>& parts) {
  Result<StoreHeader> header = target.header();
  if (!header) return fail(header.error());
  for (const std::string& path : parts) {
    const Result<Store> part = Store::open(path, StoreAccess::Read);
    if (!part) return fail(part.error());
    const Result<StoreHeader> other = part->header();
    if (!other) return fail(other.error());
    if (header->fingerprint.empty()) {
      if (Result<void> set = target.set_header(*other); !set) return set;
      *header = *other;
    }
    if (other->fingerprint != header->fingerprint)
      return fail(input_error(
          fmt::format("'{}' and '{}' are parts of different studies", path, target.path()),
          "merge the parts of one study, made by one version"));
    const Result<std::vector<StudyRow>> rows = part->rows();
    if (!rows) return fail(rows.error());
    if (Result<void> added = target.add(*rows); !added) return added;
  }
  return {};
}

}  // namespace pipecast
