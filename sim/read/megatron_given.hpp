#pragma once
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "sim/read/megatron_words.hpp"
#include "sim/read/text_file.hpp"

namespace pipecast {

/// The arguments by name, the last one where a name is repeated, and a list of what is wrong.
class MegatronArguments {
 public:
  explicit MegatronArguments(MegatronWords words);

  /// Saved or printed by Megatron: every argument under its name in the program, with its default.
  bool dumped() const { return dumped_; }

  bool has(const std::string& name) { return find(name) != nullptr; }
  /// A flag: given, and not with the value false.
  bool flag(const std::string& name);
  int integer(const std::string& name, int fallback, int minimum = 1, int maximum = 1 << 30);
  double number(const std::string& name, double fallback, double minimum, double maximum);
  std::string text(const std::string& name, const std::string& fallback = {});
  /// One of a few words; anything else is a fault that names them.
  std::string choice(const std::string& name, const std::string& fallback,
                     std::span<const std::string> allowed);
  /// Every word behind the name.
  std::vector<std::string> texts(const std::string& name);
  void fault(const std::string& name, std::string message, std::string hint = {});
  /// Whether a fault of this argument is known: what follows from its value is not worth another.
  bool faulty(const std::string& name) const { return faulty_.contains(name); }
  /// Names that nobody asked for.
  std::vector<std::string> unread() const;
  /// Names that were asked for, given or not.
  const std::set<std::string, std::less<>>& asked() const { return asked_; }
  /// All that were given, by name.
  const std::map<std::string, MegatronArgument, std::less<>>& given() const { return arguments_; }
  FaultList& faults() { return faults_; }

 private:
  const MegatronArgument* find(const std::string& name);

  std::map<std::string, MegatronArgument, std::less<>> arguments_;
  std::set<std::string, std::less<>> asked_;
  std::set<std::string, std::less<>> faulty_;
  bool dumped_ = false;
  FaultList faults_;
};

}  // namespace pipecast
