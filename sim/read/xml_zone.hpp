#pragma once
#include <string>

#include "sim/model/platform.hpp"
#include "sim/read/text_file.hpp"
#include "sim/read/xml_tree.hpp"

namespace pipecast {

/// Where faults of an XML file go.
struct XmlSource {
  const std::string& file;
  const LinedText& text;
  FaultList& faults;

  SourceSpan where(const XmlNode& node) const;
  void fault(const XmlNode& node, std::string message, std::string hint = {}) const;
};

/// The <platform> element → devices, links and explicit routes. Faults go to `source`; the result
/// is whole when there are none.
Platform read_zones(const XmlNode& root, const XmlSource& source);

}  // namespace pipecast
