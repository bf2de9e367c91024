// Clusters of a SimGrid file: every way that our reader takes is the way that SimGrid itself takes.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <simgrid/s4u.hpp>
#include <sstream>

#include "sim/read/platform_xml.hpp"
#include "tests/support/platform_examples.hpp"

namespace pipecast {
namespace {

struct Way {
  double latency_s = 0;
  double narrowest = 0;
  std::vector<std::string> links;
};
using Ways = std::map<std::pair<std::string, std::string>, Way>;

std::string file_of(const std::string& body) {
  return "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM "
         "\"https://simgrid.org/simgrid.dtd\">\n<platform version=\"4.1\">\n"
         "<zone id=\"world\" routing=\"Full\">\n" +
         body + "</zone>\n</platform>\n";
}

std::string cluster(const std::string& more, int hosts, const std::string& id = "c") {
  return "<cluster id=\"" + id + "\" prefix=\"" + id + "\" suffix=\"\" radical=\"0-" +
         std::to_string(hosts - 1) + "\" speed=\"1Gf\" bw=\"10GBps\" lat=\"5us\" " + more + "/>\n";
}

/// In the child: one line per ordered pair, of every `stride`-th sender.
void print_ways(const std::string& path, std::size_t stride, std::FILE* out) {
  char name[] = "test";
  char quiet[] = "--log=root.thresh:error";
  char* words[] = {name, quiet, nullptr};
  int count = 2;
  simgrid::s4u::Engine engine(&count, words);
  engine.load_platform(path);
  engine.seal_platform();
  const std::vector<simgrid::s4u::Host*> hosts = engine.get_all_hosts();
  for (std::size_t sender = 0; sender < hosts.size(); sender += stride)
    for (const simgrid::s4u::Host* to : hosts) {
      if (hosts[sender] == to) continue;
      std::vector<simgrid::s4u::Link*> links;
      double latency = 0;
      hosts[sender]->route_to(to, links, &latency);
      std::fprintf(out, "%s %s %.17g", hosts[sender]->get_cname(), to->get_cname(), latency);
      for (const simgrid::s4u::Link* link : links)
        std::fprintf(out, " %s| %.17g", link->get_cname(), link->get_bandwidth());
      std::fprintf(out, "\n");
    }
}

/// Never returns: nothing of the test runs on in the child.
[[noreturn]] void run_child(const std::string& path, std::size_t stride, int end) {
  std::FILE* out = fdopen(end, "w");
  try {
    print_ways(path, stride, out);
  } catch (const std::exception& fault) {
    std::fprintf(stderr, "%s\n", fault.what());
    _exit(1);
  }
  std::fclose(out);
  _exit(0);
}

Ways parse_ways(std::istream& lines) {
  Ways ways;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string from;
    std::string to;
    Way way;
    words >> from >> to >> way.latency_s;
    way.narrowest = HUGE_VAL;
    double bandwidth = 0;
    for (std::string link; std::getline(words >> std::ws, link, '|') && words >> bandwidth;) {
      if (link.ends_with(" toll")) continue;  // it steers, and takes no time
      way.links.push_back(link);
      way.narrowest = std::min(way.narrowest, bandwidth);
    }
    ways[{from, to}] = way;
  }
  return ways;
}

/// SimGrid's engine is one per process.
Ways ways_of_simgrid(const std::string& xml, std::size_t stride) {
  const std::string path = ::testing::TempDir() + "simgrid_clusters.xml";
  std::ofstream(path) << xml;
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    run_child(path, stride, ends[1]);
  }
  close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t got = 0; (got = read(ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(got));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  std::remove(path.c_str());
  std::istringstream lines(text);
  return parse_ways(lines);
}

/// Equal latency, bandwidth and length for every pair, and the same links shared: a link of ours is
/// always the same link of SimGrid.
void expect_ways_of(const Platform& platform, const std::string& xml, std::size_t stride) {
  const std::size_t devices = platform.devices.size();
  std::map<std::string, std::int32_t> number;
  for (const Device& device : platform.devices)
    number.emplace(device.name, static_cast<std::int32_t>(number.size()));
  const Ways ways = ways_of_simgrid(xml, stride);
  ASSERT_EQ(ways.size(), (devices + stride - 1) / stride * (devices - 1));
  std::map<std::string, std::string> theirs;
  std::map<std::string, std::string> ours;
  for (const auto& [pair, expected] : ways) {
    SCOPED_TRACE(pair.first + " " + pair.second);
    const Result<Route> way = route(platform, {number.at(pair.first)}, {number.at(pair.second)});
    ASSERT_TRUE(way);
    ASSERT_EQ(way->links.size(), expected.links.size());
    ASSERT_NEAR(way->latency.value, expected.latency_s, 1e-12);
    ASSERT_DOUBLE_EQ(way->bandwidth.value, expected.narrowest);
    for (std::size_t hop = 0; hop < way->links.size(); ++hop) {
      const std::string& own = platform.links[way->links[hop].at()].name;
      const std::string& other = expected.links[hop];
      ASSERT_EQ(theirs.try_emplace(own, other).first->second, other);
      ASSERT_EQ(ours.try_emplace(other, own).first->second, own);
    }
  }
}

void expect_the_same_ways(const std::string& body, std::size_t stride = 1) {
  SCOPED_TRACE(body);
  const std::string xml = file_of(body);
  const Result<Platform> platform = read_platform_xml(xml, "clusters.xml");
  ASSERT_TRUE(platform) << render(platform.error());
  expect_ways_of(*platform, xml, stride);
}

TEST(SimgridClusters, FlatOnesWithAndWithoutABackbone) {
  expect_the_same_ways(cluster("", 5));
  expect_the_same_ways(cluster("bb_bw=\"20GBps\" bb_lat=\"1us\"", 5));
  expect_the_same_ways(cluster("sharing_policy=\"SHARED\"", 3));
}

TEST(SimgridClusters, ToriWalkDimensionByDimension) {
  for (const auto& [sizes, hosts] : std::vector<std::pair<std::string, int>>{
           {"4", 4}, {"5,3", 15}, {"4,4", 16}, {"2,2,2", 8}, {"3,4,2", 24}, {"6,1,2", 12}}) {
    expect_the_same_ways(cluster("topology=\"TORUS\" topo_parameters=\"" + sizes + "\"", hosts));
    expect_the_same_ways(cluster(
        "topology=\"TORUS\" sharing_policy=\"SHARED\" topo_parameters=\"" + sizes + "\"", hosts));
  }
}

TEST(SimgridClusters, FatTreesGoUpByTheReceiversNumber) {
  for (const auto& [shape, hosts] :
       std::vector<std::pair<std::string, int>>{{"1;4;1;1", 4},
                                                {"2;4,4;1,2;1,2", 16},
                                                {"2;4,4;2,2;1,1", 16},
                                                {"3;2,3,2;1,2,2;1,1,1", 12},
                                                {"3;4,4,3;1,4,1;1,1,1", 48},
                                                {"2;3,4;1,3;2,1", 12},
                                                {"3;3,2,2;1,2,3;2,3,2", 12}})
    expect_the_same_ways(cluster("topology=\"FAT_TREE\" topo_parameters=\"" + shape + "\"", hosts));
}

TEST(SimgridClusters, DragonfliesTakeTheShortestWay) {
  for (const auto& [shape, hosts] : std::vector<std::pair<std::string, int>>{{"3,4;3,2;3,1;2", 54},
                                                                             {"2,1;2,3;4,2;1", 16},
                                                                             {"1,1;3,1;2,1;2", 12},
                                                                             {"4,2;1,1;5,1;1", 20}})
    expect_the_same_ways(
        cluster("topology=\"DRAGONFLY\" topo_parameters=\"" + shape + "\"", hosts));
}

/// Joined at their routers; a torus has none and takes one of its hosts.
TEST(SimgridClusters, ClustersReachEachOther) {
  const auto link = [](const std::string& gate) {
    return "<link id=\"between\" bandwidth=\"1GBps\" latency=\"50us\"/>\n<zoneRoute src=\"a\" "
           "dst=\"b\" gw_src=\"" +
           gate + "\" gw_dst=\"rb\"><link_ctn id=\"between\"/></zoneRoute>\n";
  };
  const std::string flat = cluster("router_id=\"rb\"", 4, "b");
  expect_the_same_ways(cluster("router_id=\"ra\" bb_bw=\"20GBps\" bb_lat=\"1us\"", 3, "a") + flat +
                       link("ra"));
  expect_the_same_ways(cluster("topology=\"TORUS\" topo_parameters=\"3,2\"", 6, "a") + flat +
                       link("a2"));
}

/// More hosts than routes are written out for: the same ways, kept as levels.
TEST(SimgridClusters, LargeClustersAreReadAsLevels) {
  const std::string link =
      "<link id=\"between\" bandwidth=\"1GBps\" latency=\"50us\" sharing_policy=\"SPLITDUPLEX\"/>\n"
      "<zoneRoute src=\"a\" dst=\"b\" gw_src=\"ra\" gw_dst=\"rb\">"
      "<link_ctn id=\"between\" direction=\"UP\"/></zoneRoute>\n";
  expect_the_same_ways(cluster("router_id=\"ra\" bb_bw=\"20GBps\" bb_lat=\"1us\"", 300, "a") +
                           cluster("router_id=\"rb\"", 250, "b") + link,
                       60);
  expect_the_same_ways(cluster("bb_bw=\"20GBps\" bb_lat=\"1us\"", 520), 100);
}

/// Names are those of the file, in any order: SimGrid's Dijkstra turns round the links of a step.
void expect_the_links_of_the_file(const Platform& platform, const std::string& xml) {
  const Ways ways = ways_of_simgrid(xml, 1);
  const auto devices = static_cast<std::int32_t>(platform.devices.size());
  for (std::int32_t from = 0; from < devices; ++from)
    for (std::int32_t to = 0; to < devices; ++to) {
      if (from == to) continue;
      const Route way = *route(platform, {from}, {to});
      std::vector<std::string> own;
      for (const LinkId link : way.links) own.push_back(platform.links[link.at()].name);
      Way theirs = ways.at({platform.devices[static_cast<std::size_t>(from)].name,
                            platform.devices[static_cast<std::size_t>(to)].name});
      std::sort(own.begin(), own.end());
      std::sort(theirs.links.begin(), theirs.links.end());
      ASSERT_EQ(theirs.links, own) << from << " " << to;
      ASSERT_NEAR(theirs.latency_s, way.latency.value, 1e-12);
      ASSERT_DOUBLE_EQ(theirs.narrowest, way.bandwidth.value);
    }
}

/// Written by their levels: SimGrid itself takes our ways through the file.
TEST(SimgridClusters, LevelsAreWrittenSoThatSimgridTakesTheSameWays) {
  for (const testing::PlatformExample& example : testing::platform_examples()) {
    const Platform platform = testing::example_platform(example);
    if (std::holds_alternative<TorusRouting>(platform.routing)) continue;
    SCOPED_TRACE(example.kind);
    const Result<std::string> xml = write_levels_xml(platform);
    ASSERT_TRUE(xml) << render(xml.error());
    expect_the_links_of_the_file(platform, *xml);
  }
}

}  // namespace
}  // namespace pipecast
