#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/diagnostic.hpp"
#include "sim/study/row.hpp"

struct sqlite3;

namespace pipecast {

/// What a study's database says about itself.
struct StoreHeader {
  std::string fingerprint;  ///< of everything that decides a row; rows of another are not mixed in
  std::vector<std::pair<std::string, std::string>> texts;  ///< Study::texts

  bool operator==(const StoreHeader&) const = default;
};

enum class StoreAccess : std::uint8_t { Write, Read };

/// The rows of a study in an SQLite file: each complete or absent, whatever happens to the process.
/// One process writes at a time, the next one is told so. Closing leaves a single file.
class Store {
 public:
  /// With Write the file is made when it is missing. Never touches a file that is not a study's.
  static Result<Store> open(const std::string& path, StoreAccess access);

  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;
  ~Store();

  const std::string& path() const { return path_; }

  /// Nothing in a new file.
  Result<StoreHeader> header() const;
  Result<void> set_header(const StoreHeader& header);

  /// All of them or none. O(rows).
  Result<void> add(std::span<const StudyRow> rows);
  /// Every row, by candidate and tier. See also rows_of().
  Result<std::vector<StudyRow>> rows() const;
  /// The candidates that have a row of this tier, in order.
  Result<std::vector<std::int64_t>> candidates(Tier tier) const;

  /// Moves everything into the one file and closes it. The destructor does the same silently.
  Result<void> close();

 private:
  struct Closer {
    void operator()(sqlite3* database) const;
  };
  Store(std::string path, std::unique_ptr<sqlite3, Closer> database, StoreAccess access);

  std::string path_;
  std::unique_ptr<sqlite3, Closer> database_;
  StoreAccess access_ = StoreAccess::Read;
};

}  // namespace pipecast
