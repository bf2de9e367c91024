#pragma once
#include <CLI/App.hpp>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/diagnostic.hpp"

/// Reading a parsed command line. Options are declared without variables and looked up by name, so
/// that a command is two functions and no object.
namespace pipecast {

bool given(const CLI::App& app, const std::string& option);
std::optional<std::string> text_of(const CLI::App& app, const std::string& option);
std::vector<std::string> texts_of(const CLI::App& app, const std::string& option);
/// Precondition: declared with a check that lets only integers through.
std::optional<int> integer_of(const CLI::App& app, const std::string& option);

/// Declares an option with a value whose name in the help text is `value_name`.
CLI::Option* value_option(CLI::App& app, const std::string& names, const std::string& value_name,
                          const std::string& help);
/// The same with an integer between two bounds.
CLI::Option* integer_option(CLI::App& app, const std::string& names, const std::string& value_name,
                            const std::string& help, int minimum, int maximum);

/// A switch without a value.
CLI::Option* flag_option(CLI::App& app, const std::string& name, const std::string& help);

/// The parts of `a,b,c` that are not empty.
std::vector<std::string> listed(const std::string& text);

struct KeyValue {
  std::string key;
  std::string value;
};
/// `key=value`, cut at the first `=`; nothing when there is none or the key is empty.
std::optional<KeyValue> key_value(std::string_view text);

}  // namespace pipecast
