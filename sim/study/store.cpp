#include "sim/study/store.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <cassert>
#include <filesystem>
#include <optional>

namespace pipecast {
namespace {

/// Marks a file as ours: "pcst".
constexpr int kApplicationId = 0x70637374;
constexpr int kLayout = 2;

struct Finalizer {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, Finalizer>;

Diagnostic damaged(const std::string& path, std::string_view why) {
  return input_error(fmt::format("the study database '{}' is damaged: {}", path, why),
                     "name another file with --out; this one was left as it is");
}

Diagnostic complaint(const std::string& path, sqlite3* database) {
  const int code = sqlite3_errcode(database);
  const std::string why = sqlite3_errmsg(database);
  switch (code & 0xFF) {
    case SQLITE_NOTADB:
      return input_error(fmt::format("'{}' is not a study database", path),
                         "name another file with --out; this one was left as it is");
    case SQLITE_CORRUPT:
      return damaged(path, why);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return input_error(fmt::format("another process is writing '{}'", path),
                         "wait for it, or give this one a file of its own");
    case SQLITE_FULL:
      return input_error(fmt::format("no space left to write '{}'", path),
                         "make room and run the same command again; what is done is kept");
    case SQLITE_CANTOPEN:
      return input_error(fmt::format("cannot open '{}': {}", path, why),
                         "is its folder there, and may it be written?");
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return input_error(fmt::format("'{}' may not be written: {}", path, why));
    case SQLITE_IOERR:
      return input_error(fmt::format("cannot write or read '{}': {}", path, why),
                         "is the disk full? Run the same command again; what is done is kept");
    default:
      return input_error(fmt::format("'{}': {}", path, why));
  }
}

/// Statements against one database; the first failure is kept.
class Session {
 public:
  Session(const std::string& path, sqlite3* database) : path_(path), database_(database) {}

  Result<void> execute(const std::string& sql) const {
    if (sqlite3_exec(database_, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK) return {};
    return fail(complaint(path_, database_));
  }
  Result<Statement> prepare(const std::string& sql) const {
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(database_, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK)
      return fail(complaint(path_, database_));
    return Statement(statement);
  }
  /// Calls `row` for every row of the answer.
  Result<void> each(const std::string& sql, const std::function<void(sqlite3_stmt*)>& row) const {
    Result<Statement> statement = prepare(sql);
    if (!statement) return fail(std::move(statement.error()));
    for (;;) {
      const int code = sqlite3_step(statement->get());
      if (code == SQLITE_DONE) return {};
      if (code != SQLITE_ROW) return fail(complaint(path_, database_));
      row(statement->get());
    }
  }
  Result<int> number(const std::string& sql) const {
    int value = 0;
    if (Result<void> done =
            each(sql, [&](sqlite3_stmt* row) { value = sqlite3_column_int(row, 0); });
        !done)
      return fail(std::move(done.error()));
    return value;
  }
  /// One statement, run to its end with what `bind` puts into it.
  Result<void> run(sqlite3_stmt* statement) const {
    const int code = sqlite3_step(statement);
    if (code != SQLITE_DONE) {
      Diagnostic fault = complaint(path_, database_);
      sqlite3_reset(statement);
      return fail(std::move(fault));
    }
    sqlite3_reset(statement);
    return {};
  }

 private:
  const std::string& path_;
  sqlite3* database_;
};

void bind_text(sqlite3_stmt* statement, int column, std::string_view text) {
  sqlite3_bind_text(statement, column, text.data(), static_cast<int>(text.size()),
                    SQLITE_TRANSIENT);
}

std::string text_of(sqlite3_stmt* statement, int column) {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement, column));
  return bytes == nullptr
             ? std::string{}
             : std::string(bytes,
                           static_cast<std::size_t>(sqlite3_column_bytes(statement, column)));
}

std::string figure_list(std::string_view suffix) {
  std::string list;
  for (const FigureColumn& column : figure_columns())
    list += fmt::format(", {}{}", column.name, suffix);
  return list;
}

std::string row_list() {
  return "candidate, tier, state, short_by, reason, accelerators" + figure_list("");
}

/// NULL stands for what is not finite, which no figure should be.
void bind_row(sqlite3_stmt* statement, const StudyRow& row) {
  sqlite3_bind_int64(statement, 1, row.candidate);
  sqlite3_bind_int(statement, 2, static_cast<int>(row.tier));
  sqlite3_bind_int(statement, 3, static_cast<int>(row.state));
  sqlite3_bind_double(statement, 4, row.short_by);
  bind_text(statement, 5, row.reason);
  bind_text(statement, 6, row.accelerators);
  int at = 7;
  for (const FigureColumn& column : figure_columns())
    sqlite3_bind_double(statement, at++, row.figures.*column.member);
}

/// Nothing when no program of ours has written it.
std::optional<StudyRow> row_of(sqlite3_stmt* statement) {
  StudyRow row;
  row.candidate = sqlite3_column_int64(statement, 0);
  const int tier = sqlite3_column_int(statement, 1);
  const int state = sqlite3_column_int(statement, 2);
  if (row.candidate < 0 || tier < 0 || tier > static_cast<int>(Tier::Simgrid) || state < 0 ||
      state > static_cast<int>(RowState::Crashed))
    return std::nullopt;
  row.tier = static_cast<Tier>(tier);
  row.state = static_cast<RowState>(state);
  row.short_by = sqlite3_column_double(statement, 3);
  row.reason = text_of(statement, 4);
  row.accelerators = text_of(statement, 5);
  int at = 6;
  for (const FigureColumn& column : figure_columns())
    row.figures.*column.member = sqlite3_column_double(statement, at++);
  return row;
}

/// Exclusive locking: the write-ahead log then needs no shared memory, which network file systems
/// do not have.
constexpr const char* kWriterSettings =
    "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;";

std::string tables() {
  return fmt::format(
      "BEGIN IMMEDIATE; PRAGMA application_id = {}; PRAGMA user_version = {};"
      "CREATE TABLE header (fingerprint TEXT NOT NULL);"
      "CREATE TABLE texts (position INTEGER PRIMARY KEY, name TEXT NOT NULL, text TEXT NOT NULL);"
      "CREATE TABLE rows (candidate INTEGER NOT NULL, tier INTEGER NOT NULL, state INTEGER NOT "
      "NULL, short_by REAL NOT NULL, reason TEXT NOT NULL, accelerators TEXT NOT NULL{}, PRIMARY "
      "KEY (candidate, tier)) "
      "WITHOUT ROWID; COMMIT;",
      kApplicationId, kLayout, figure_list(" REAL NOT NULL"));
}

/// A writer that was killed before its tables were there leaves the first page of a database that
/// nobody has put anything into.
Result<bool> is_blank(const Session& session) {
  const Result<int> marked = session.number("PRAGMA application_id");
  if (!marked) return fail(marked.error());
  const Result<int> things = session.number("SELECT count(*) FROM sqlite_master");
  if (!things) return fail(things.error());
  return *marked == 0 && *things == 0;
}

Diagnostic no_study(const std::string& path) {
  return input_error(fmt::format("there is no study database '{}'", path),
                     "pipecast sweep STUDY --out study.db makes one");
}

/// Opening for writing changes a file, so all that can be wrong with it is looked for before.
Result<void> check_content(const Session& session, const std::string& path) {
  for (const std::string& query : {std::string("SELECT fingerprint FROM header"),
                                   std::string("SELECT position, name, text FROM texts"),
                                   "SELECT " + row_list() + " FROM rows"})
    if (Result<Statement> prepared = session.prepare(query); !prepared)
      return fail(damaged(path, "its tables are not those of a study"));
  std::string verdict;
  if (Result<void> checked = session.each("PRAGMA integrity_check(1)",
                                          [&](sqlite3_stmt* row) { verdict = text_of(row, 0); });
      !checked)
    return checked;
  if (verdict == "ok") return {};
  return fail(damaged(path, verdict));
}

/// SQLite takes an empty name for a database that nobody finds again, and a device for a file.
Result<void> check_place(const std::string& path) {
  std::error_code unknown;
  const std::filesystem::file_status status = std::filesystem::status(path, unknown);
  if (std::filesystem::is_directory(status))
    return fail(input_error(fmt::format("'{}' is a folder, not a study database", path)));
  if (path.empty() || path == "-" || path.starts_with(':') ||
      (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)))
    return fail(input_error(fmt::format("'{}' cannot be a study database", path),
                            "name a file, such as study.db"));
  return {};
}

Result<void> check_owner(const Session& session, const std::string& path) {
  const Result<int> owner = session.number("PRAGMA application_id");
  if (!owner) return fail(owner.error());
  if (*owner != kApplicationId)
    return fail(input_error(fmt::format("'{}' is a database, but not one of a study", path),
                            "name another file with --out; this one was left as it is"));
  const Result<int> layout = session.number("PRAGMA user_version");
  if (!layout) return fail(layout.error());
  if (*layout != kLayout)
    return fail(input_error(fmt::format("'{}' was written by another version of pipecast (layout "
                                        "{}, this one has {})",
                                        path, *layout, kLayout),
                            "run the study again into another file"));
  return check_content(session, path);
}

}  // namespace

void Store::Closer::operator()(sqlite3* database) const { sqlite3_close(database); }

Store::Store(std::string path, std::unique_ptr<sqlite3, Closer> database, StoreAccess access)
    : path_(std::move(path)), database_(std::move(database)), access_(access) {}
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;
Store::~Store() {
  if (database_) (void)close();
}

Result<Store> Store::open(const std::string& path, StoreAccess access) {
  if (Result<void> placed = check_place(path); !placed) return fail(placed.error());
  std::error_code unknown;
  const auto size = std::filesystem::file_size(path, unknown);
  bool is_new = static_cast<bool>(unknown) || size == 0;
  if (access == StoreAccess::Read && is_new) return fail(no_study(path));
  const int flags = access == StoreAccess::Read ? SQLITE_OPEN_READWRITE
                                                : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  sqlite3* raw = nullptr;
  const int opened = sqlite3_open_v2(path.c_str(), &raw, flags, nullptr);
  std::unique_ptr<sqlite3, Closer> database(raw);
  if (raw == nullptr) return fail(infeasible("out of memory"));
  if (opened != SQLITE_OK) return fail(complaint(path, raw));
  sqlite3_extended_result_codes(raw, 0);
  sqlite3_busy_timeout(raw, access == StoreAccess::Read ? 5000 : 500);
  const Session session(path, raw);
  // A log that a kill has left is then read without a file for shared memory: on a full disk too.
  if (access == StoreAccess::Read && std::filesystem::exists(path + "-wal", unknown))
    if (Result<void> set = session.execute("PRAGMA locking_mode = EXCLUSIVE"); !set)
      return fail(set.error());
  if (!is_new) {
    const Result<bool> blank = is_blank(session);
    if (!blank) return fail(blank.error());
    if (*blank && access == StoreAccess::Read) return fail(no_study(path));
    is_new = *blank;
  }
  if (!is_new)
    if (Result<void> owned = check_owner(session, path); !owned) return fail(owned.error());
  if (access == StoreAccess::Write)
    if (Result<void> set = session.execute(kWriterSettings); !set) return fail(set.error());
  if (is_new)
    if (Result<void> made = session.execute(tables()); !made) return fail(made.error());
  return Store(path, std::move(database), access);
}

Result<StoreHeader> Store::header() const {
  StoreHeader header;
  const Session session(path_, database_.get());
  Result<void> read = session.each("SELECT fingerprint FROM header", [&](sqlite3_stmt* row) {
    header.fingerprint = text_of(row, 0);
  });
  if (read)
    read = session.each("SELECT name, text FROM texts ORDER BY position", [&](sqlite3_stmt* row) {
      header.texts.emplace_back(text_of(row, 0), text_of(row, 1));
    });
  if (!read) return fail(std::move(read.error()));
  return header;
}

Result<void> Store::set_header(const StoreHeader& header) {
  const Session session(path_, database_.get());
  if (Result<void> begun =
          session.execute("BEGIN IMMEDIATE; DELETE FROM header; DELETE FROM texts;");
      !begun)
    return begun;
  const auto write = [&]() -> Result<void> {
    Result<Statement> mark = session.prepare("INSERT INTO header VALUES (?)");
    if (!mark) return fail(mark.error());
    bind_text(mark->get(), 1, header.fingerprint);
    if (Result<void> done = session.run(mark->get()); !done) return done;
    Result<Statement> insert = session.prepare("INSERT INTO texts VALUES (?, ?, ?)");
    if (!insert) return fail(insert.error());
    for (std::size_t i = 0; i < header.texts.size(); ++i) {
      sqlite3_bind_int64(insert->get(), 1, static_cast<sqlite3_int64>(i));
      bind_text(insert->get(), 2, header.texts[i].first);
      bind_text(insert->get(), 3, header.texts[i].second);
      if (Result<void> done = session.run(insert->get()); !done) return done;
    }
    return {};
  };
  Result<void> written = write();
  if (written) written = session.execute("COMMIT");
  if (!written) (void)session.execute("ROLLBACK");
  return written;
}

Result<void> Store::add(std::span<const StudyRow> rows) {
  if (rows.empty()) return {};
  const Session session(path_, database_.get());
  if (Result<void> begun = session.execute("BEGIN IMMEDIATE"); !begun) return begun;
  const auto write = [&]() -> Result<void> {
    std::string marks = "?";
    for (std::size_t i = 0; i < 5 + figure_columns().size(); ++i) marks += ", ?";
    Result<Statement> insert = session.prepare(
        fmt::format("INSERT OR REPLACE INTO rows ({}) VALUES ({})", row_list(), marks));
    if (!insert) return fail(insert.error());
    for (const StudyRow& row : rows) {
      bind_row(insert->get(), row);
      if (Result<void> done = session.run(insert->get()); !done) return done;
    }
    return {};
  };
  Result<void> written = write();
  if (written) written = session.execute("COMMIT");
  if (!written) (void)session.execute("ROLLBACK");
  return written;
}

Result<std::vector<StudyRow>> Store::rows() const {
  std::vector<StudyRow> rows;
  bool whole = true;
  const Result<void> read =
      Session(path_, database_.get())
          .each("SELECT " + row_list() + " FROM rows ORDER BY candidate, tier",
                [&](sqlite3_stmt* statement) {
                  auto row = row_of(statement);
                  whole = whole && row;
                  if (row) rows.push_back(std::move(*row));
                });
  if (!read) return fail(read.error());
  if (!whole) return fail(damaged(path_, "it holds rows that no study has"));
  return rows;
}

Result<std::vector<std::int64_t>> Store::candidates(Tier tier) const {
  std::vector<std::int64_t> found;
  const Result<void> read =
      Session(path_, database_.get())
          .each(fmt::format("SELECT candidate FROM rows WHERE tier = {} ORDER BY candidate",
                            static_cast<int>(tier)),
                [&](sqlite3_stmt* row) { found.push_back(sqlite3_column_int64(row, 0)); });
  if (!read) return fail(read.error());
  return found;
}

Result<void> Store::close() {
  const Session session(path_, database_.get());
  Result<void> closed;
  if (access_ == StoreAccess::Write) closed = session.execute("PRAGMA journal_mode = DELETE");
  database_.reset();
  return closed;
}

}  // namespace pipecast
