// Reads what `pipecast_bench --benchmark_format=json` printed and writes docs/img/scaling.svg:
// seconds against tasks and microseconds per task against devices, both axes logarithmic. Of
// repeated measurements the shortest counts.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace {

struct Point {
  double x = 0;
  double y = 0;
};
struct Series {
  std::string label;
  std::string color;
  std::vector<Point> points;
};
struct Axis {
  std::string title;
  int low = 0;   ///< powers of ten
  int high = 1;  ///< of its ends
};

constexpr int kWidth = 380;
constexpr int kHeight = 260;
constexpr int kLeft = 64;
constexpr int kTop = 34;

struct Measured {
  double seconds = HUGE_VAL;
  double tasks = 0;
  double devices = 0;
};

/// By name, without what Google Benchmark appends.
std::map<std::string, Measured> read(const nlohmann::json& results) {
  std::map<std::string, Measured> measured;
  for (const auto& row : results.at("benchmarks")) {
    if (row.value("run_type", "iteration") != "iteration" || !row.contains("tasks")) continue;
    const std::string unit = row.at("time_unit");
    const double scale = unit == "s" ? 1 : unit == "ms" ? 1e-3 : unit == "us" ? 1e-6 : 1e-9;
    Measured& best = measured[row.at("run_name")];
    const bool counted = row.at("run_name").get<std::string>().ends_with("manual_time");
    const double time = row.at(counted ? "real_time" : "cpu_time");
    best.seconds = std::min(best.seconds, time * scale);
    best.tasks = row.at("tasks");
    best.devices = row.value("devices", 0.0);
  }
  return measured;
}

template <class Pick>
Series series(const std::map<std::string, Measured>& measured, const std::string& benchmark,
              std::string label, std::string color, Pick pick) {
  Series result{std::move(label), std::move(color), {}};
  for (const auto& [name, value] : measured)
    if (name.starts_with(benchmark + "/")) result.points.push_back(pick(value));
  std::sort(result.points.begin(), result.points.end(),
            [](const Point& a, const Point& b) { return a.x < b.x; });
  return result;
}

double place(double value, const Axis& axis, int length) {
  return (std::log10(value) - axis.low) / (axis.high - axis.low) * length;
}

std::string grid(const Axis& x, const Axis& y) {
  std::string svg;
  for (int power = x.low; power <= x.high; ++power) {
    const double at = kLeft + place(std::pow(10, power), x, kWidth);
    svg += fmt::format(
        "<path d=\"M{0:.1f} {1}v{2}\" stroke=\"#ddd\"/><text x=\"{0:.1f}\" y=\"{3}\" "
        "text-anchor=\"middle\">10<tspan dy=\"-5\" font-size=\"8\">{4}</tspan></text>\n",
        at, kTop, kHeight, kTop + kHeight + 18, power);
  }
  for (int power = y.low; power <= y.high; ++power) {
    const double at = kTop + kHeight - place(std::pow(10, power), y, kHeight);
    svg += fmt::format(
        "<path d=\"M{0} {1:.1f}h{2}\" stroke=\"#ddd\"/><text x=\"{3}\" y=\"{4:.1f}\" "
        "text-anchor=\"end\">10<tspan dy=\"-5\" font-size=\"8\">{5}</tspan></text>\n",
        kLeft, at, kWidth, kLeft - 8, at + 4, power);
  }
  return svg;
}

std::string panel(const Axis& x, const Axis& y, const std::vector<Series>& all, int offset) {
  std::string svg = fmt::format("<g transform=\"translate({} 0)\">\n", offset) + grid(x, y);
  svg += fmt::format(
      "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text><text x=\"{}\" y=\"20\">{}</text>\n",
      kLeft + kWidth / 2, kTop + kHeight + 38, x.title, kLeft, y.title);
  int line = 0;
  for (const Series& each : all) {
    std::string way;
    for (const Point& point : each.points) {
      const double across = kLeft + place(point.x, x, kWidth);
      const double up = kTop + kHeight - place(point.y, y, kHeight);
      way += fmt::format("{}{:.1f} {:.1f}", way.empty() ? "M" : "L", across, up);
      svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\" fill=\"{}\"/>\n", across,
                         up, each.color);
    }
    svg += fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\"/>\n", way,
                       each.color);
    svg += fmt::format("<text x=\"{}\" y=\"{}\" fill=\"{}\">{}</text>\n", kLeft + 10,
                       kTop + 18 + 16 * line++, each.color, each.label);
  }
  return svg + "</g>\n";
}

std::string picture(const std::map<std::string, Measured>& measured) {
  const auto seconds = [](const Measured& m) { return Point{m.tasks, m.seconds}; };
  const auto per_task = [](const Measured& m) {
    return Point{m.devices, 1e6 * m.seconds / m.tasks};
  };
  const std::string pipelines = "SimGrid, one pipeline";
  const std::string replicas = "SimGrid, replicas side by side";
  const std::string reductions = "SimGrid, replicas with reductions, built too";
  const std::vector<Series> by_tasks{
      series(measured, "simgrid_pipeline", pipelines, "#1f5fa8", seconds),
      series(measured, "simgrid_replicas", replicas, "#b2541a", seconds),
      series(measured, "simgrid_reductions", reductions, "#7b3f99", seconds),
      series(measured, "longest_path_pipeline", "longest path", "#2c7d43", seconds)};
  const std::vector<Series> by_devices{
      series(measured, "simgrid_pipeline", pipelines, "#1f5fa8", per_task),
      series(measured, "simgrid_replicas", replicas, "#b2541a", per_task),
      series(measured, "simgrid_reductions", reductions, "#7b3f99", per_task)};
  const int width = 2 * (kLeft + kWidth + 24);
  const int height = kTop + kHeight + 50;
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
             "height=\"{1}\" font-family=\"sans-serif\" font-size=\"12\">\n"
             "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
             width, height) +
         panel({"tasks", 3, 7}, {"seconds", -5, 2}, by_tasks, 0) +
         panel({"devices", 0, 5}, {"microseconds per task", 0, 2}, by_devices,
               kLeft + kWidth + 24) +
         "</svg>\n";
}

}  // namespace

int main(int count, char** words) {
  if (count != 2) {
    std::cerr << "usage: pipecast_scaling_plot BENCH.json > docs/img/scaling.svg\n";
    return 2;
  }
  std::ifstream file(words[1]);
  const auto results = nlohmann::json::parse(file, nullptr, false);
  if (results.is_discarded() || !results.contains("benchmarks")) {
    std::cerr << words[1] << " is not the JSON of pipecast_bench\n";
    return 1;
  }
  std::cout << picture(read(results));
  return 0;
}
