#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/diagnostic.hpp"
#include "sim/read/text_file.hpp"

namespace pipecast {

/// One argument: `tensor-model-parallel-size` with the word behind it, or with none (a flag).
struct MegatronArgument {
  std::string name;
  std::optional<std::string> value;
  SourceSpan where;
};

/// Takes a command line, a shell script, a saved namespace or the printed table apart. Names have
/// dashes and no leading `--`. Shell words keep quotes together; NAME=value is remembered and put
/// where $NAME, ${NAME} or ${NAME:-default} stands; what is not an argument is passed over. At most
/// 4,096 arguments. O(bytes).
Result<std::vector<MegatronArgument>> megatron_words(std::string_view text,
                                                     const std::string& file);

/// The arguments by name, the last one where a name is repeated, and a list of what is wrong.
class MegatronArguments {
 public:
  explicit MegatronArguments(std::vector<MegatronArgument> arguments);

  bool has(const std::string& name) { return find(name) != nullptr; }
  /// A flag: given, and not with the value false.
  bool flag(const std::string& name);
  int integer(const std::string& name, int fallback, int minimum = 1, int maximum = 1 << 30);
  std::string text(const std::string& name, const std::string& fallback = {});
  void fault(const std::string& name, std::string message, std::string hint = {});
  /// Names that nobody asked for.
  std::vector<std::string> unread() const;
  FaultList& faults() { return faults_; }

 private:
  const MegatronArgument* find(const std::string& name);

  std::map<std::string, MegatronArgument, std::less<>> arguments_;
  std::set<std::string, std::less<>> asked_;
  FaultList faults_;
};

}  // namespace pipecast
