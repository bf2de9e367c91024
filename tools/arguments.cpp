#include "tools/arguments.hpp"

#include <sstream>

#include "sim/base/quantity.hpp"

namespace pipecast {

bool given(const CLI::App& app, const std::string& option) { return app.count(option) > 0; }

std::optional<std::string> text_of(const CLI::App& app, const std::string& option) {
  if (!given(app, option)) return std::nullopt;
  return app.get_option(option)->as<std::string>();
}

std::vector<std::string> texts_of(const CLI::App& app, const std::string& option) {
  if (!given(app, option)) return {};
  return app.get_option(option)->results();
}

std::optional<int> integer_of(const CLI::App& app, const std::string& option) {
  const std::optional<std::string> text = text_of(app, option);
  if (!text) return std::nullopt;
  return static_cast<int>(parse_integer(*text).value_or(0));
}

CLI::Option* value_option(CLI::App& app, const std::string& names, const std::string& value_name,
                          const std::string& help) {
  return app.add_option(names, help)->type_name(value_name);
}

CLI::Option* integer_option(CLI::App& app, const std::string& names, const std::string& value_name,
                            const std::string& help, int minimum, int maximum) {
  const auto bounded = [minimum, maximum](const std::string& text) -> std::string {
    const auto number = parse_integer(text);
    if (number && *number >= minimum && *number <= maximum) return {};
    return "'" + text + "' is not a whole number from " + std::to_string(minimum) + " to " +
           std::to_string(maximum);
  };
  return value_option(app, names, value_name, help)->check(bounded);
}

CLI::Option* flag_option(CLI::App& app, const std::string& name, const std::string& help) {
  return app.add_flag(name, help);
}

std::vector<std::string> listed(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');)
    if (!part.empty()) parts.push_back(part);
  return parts;
}

std::optional<KeyValue> key_value(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) return std::nullopt;
  return KeyValue{std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
}

}  // namespace pipecast
