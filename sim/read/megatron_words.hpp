#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/diagnostic.hpp"

namespace pipecast {

/// One argument: `tensor-model-parallel-size` with the words behind it, or with none (a flag).
struct MegatronArgument {
  std::string name;
  std::vector<std::string> values;
  SourceSpan where;
};

struct MegatronWords {
  std::vector<MegatronArgument> arguments;
  bool command_line = true;  ///< else what Megatron saved or printed: every argument it has
};

/// Takes a command line, a shell script, a saved namespace or the printed table apart. Names have
/// dashes and no leading `--`. Shell words keep quotes together; NAME=value is remembered and put
/// where $NAME, ${NAME} or ${NAME:-default} stands, as several words where no quotes keep it
/// together; what is not known stays as it is written. What is not an argument is passed over. At
/// most 4,096 arguments. O(bytes).
Result<MegatronWords> megatron_words(std::string_view text, const std::string& file);

}  // namespace pipecast
