#include <fmt/format.h>

#include <string>
#include <vector>

#include "sim/read/cluster_wiring.hpp"
#include "sim/read/platform_xml.hpp"
#include "sim/read/xml_builder.hpp"
#include "sim/read/xml_units.hpp"

namespace pipecast {
namespace {

class ClusterReader {
 public:
  ClusterReader(XmlBuilder& build, const XmlNode& node, std::int32_t zone)
      : build_(build), node_(node), zone_(zone), id_(build.required(node, "id")) {
    if (const std::string* policy = node.find("sharing_policy")) policy_ = *policy;
  }

  void read() {
    if (node_.find("limiter_link") != nullptr)
      build_.source.fault(node_, "limiter_link is not read",
                          "give the hosts' links the bandwidth that a host can use");
    prefix_ = build_.required(node_, "prefix");
    suffix_ = build_.required(node_, "suffix");
    bandwidth_ = build_.quantity(node_, "bw", parse_simgrid_bandwidth, "");
    latency_ = build_.quantity(node_, "lat", parse_simgrid_time, "");
    const auto numbers = parse_radical(build_.required(node_, "radical"), kMaxXmlPoints);
    if (!numbers) return build_.source.fault(node_, numbers.error(), "write 0-7 or 0-3,8-11");
    const std::string* topology = node_.find("topology");
    if (topology == nullptr || *topology == "FLAT")
      join_at_the_middle(*numbers);
    else
      join_by_cables(*topology, *numbers);
  }

 private:
  Zone& zone() { return build_.graph.zones[static_cast<std::size_t>(zone_)]; }

  std::int32_t add_router() {
    const std::string* router = node_.find("router_id");
    return build_.add_point(
        node_, router != nullptr ? *router : prefix_ + id_ + "_router" + suffix_, zone_, -1);
  }

  /// The points of the hosts, in the order of the radical.
  std::vector<std::int32_t> add_hosts(const std::vector<std::int64_t>& numbers) {
    std::vector<std::int32_t> hosts;
    for (const std::int64_t number : numbers) {
      if (build_.source.faults.full() || build_.graph.points.size() > kMaxXmlPoints) break;
      const std::string name = fmt::format("{}{}{}", prefix_, number, suffix_);
      hosts.push_back(build_.add_point(node_, name, zone_, build_.add_device(node_, name)));
    }
    return hosts;
  }

  NamedLink add_cable(const std::string& name, int width) {
    return build_.add_link_by_policy(node_, id_ + "_" + name, latency_, bandwidth_ * width,
                                     policy_);
  }

  void join_at_the_middle(const std::vector<std::int64_t>& numbers) {
    std::vector<LinkId> backbone;
    if (node_.find("bb_bw") != nullptr)
      backbone = {build_.add_link(
          node_, id_ + "_backbone", build_.quantity(node_, "bb_lat", parse_simgrid_time, ""),
          build_.quantity(node_, "bb_bw", parse_simgrid_bandwidth, ""), Sharing::Shared)};
    const std::int32_t middle = add_router();
    zone().spoke_up[middle] = backbone;
    zone().spoke_down[middle] = backbone;
    const std::vector<std::int32_t> hosts = add_hosts(numbers);
    for (std::size_t host = 0; host < hosts.size(); ++host) {
      const NamedLink link = add_cable(fmt::format("link_{}", numbers[host]), 1);
      zone().spoke_up[hosts[host]] = {link.up};
      zone().spoke_down[hosts[host]] = backbone;
      zone().spoke_down[hosts[host]].push_back(link.down);
      std::vector<LinkId>& up = zone().spoke_up[hosts[host]];
      up.insert(up.end(), backbone.begin(), backbone.end());
    }
  }

  /// Every way is written out. There is no router: other zones are joined at a host, as in SimGrid.
  void join_by_cables(std::string_view topology, const std::vector<std::int64_t>& numbers) {
    if (numbers.size() > kMaxExplicitDevices)
      return build_.source.fault(
          node_,
          fmt::format("more than {} hosts in a cluster that is not flat", kMaxExplicitDevices),
          "for larger machines use a kind of pipecast, such as torus or fat-tree");
    if (node_.find("bb_bw") != nullptr)
      build_.source.fault(node_, "only a flat cluster has a backbone",
                          "leave out bb_bw and bb_lat");
    const auto wiring =
        cluster_wiring(topology, build_.required(node_, "topo_parameters"), numbers.size());
    if (!wiring) return build_.source.fault(node_, wiring.error());
    zone().routing = ZoneRouting::Direct;
    const std::vector<std::int32_t> hosts = add_hosts(numbers);
    std::vector<NamedLink> cables;
    for (const ClusterCable& cable : wiring->cables)
      cables.push_back(add_cable(cable.name, cable.width));
    if (!build_.source.faults.empty()) return;
    for (std::size_t from = 0; from < hosts.size(); ++from)
      for (std::size_t to = 0; to < hosts.size(); ++to) {
        if (from == to) continue;
        std::vector<LinkId> links;
        for (const CableUse& use : wiring->way(from, to))
          links.push_back(use.up ? cables[use.cable].up : cables[use.cable].down);
        add_way(hosts[from], hosts[to], std::move(links));
      }
  }

  void add_way(std::int32_t from, std::int32_t to, std::vector<LinkId> links) {
    build_.add_edge(zone_, node_, {{from, -1}, {to, -1}, from, to, std::move(links)});
  }

  XmlBuilder& build_;
  const XmlNode& node_;
  std::int32_t zone_;
  std::string id_;
  std::string policy_ = "SPLITDUPLEX";
  std::string prefix_;
  std::string suffix_;
  double bandwidth_ = 1;
  double latency_ = 0;
};

}  // namespace

void declare_cluster(XmlBuilder& build, const XmlNode& node, std::int32_t zone) {
  ClusterReader(build, node, zone).read();
}

}  // namespace pipecast
