#pragma once
#include <span>
#include <string>
#include <string_view>

#include "sim/model/platform.hpp"

namespace pipecast {

/// Text for an attribute, with what XML reserves written as entities.
std::string xml_escaped(std::string_view text);

/// The head of a SimGrid file and its outermost zone, open; `properties` are whole <prop> lines.
std::string xml_head(const Platform& platform, std::string_view routing,
                     std::string_view properties = {});
std::string_view xml_tail();

std::string xml_host(const Device& device, std::string_view speed);
std::string xml_link(const Link& link);
std::string xml_property(std::string_view id, std::string_view value);

/// One direction of a route over links that are named.
std::string xml_route(std::string_view from, std::string_view to,
                      std::span<const std::string_view> links);

/// <prop> lines of the fits of the platform's collectives; empty when nothing was fitted.
std::string xml_collectives(const Platform& platform);

}  // namespace pipecast
