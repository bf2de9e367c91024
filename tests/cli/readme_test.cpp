#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <sstream>
#include <vector>

#include "tests/cli/shell.hpp"

/// Commands in Markdown are run. A ```sh block is a script; a ```text block right after it must be
/// its output. Lines that start `tools/` build this repository and are left to the continuous
/// integration.
namespace pipecast::cli {
namespace {

struct Block {
  std::string language;
  std::string text;
  int line = 0;
};

std::vector<Block> fenced_blocks(const std::string& markdown) {
  std::vector<Block> blocks;
  std::istringstream lines(markdown);
  std::string line;
  bool inside = false;
  for (int number = 1; std::getline(lines, line); ++number) {
    if (line.starts_with("```")) {
      if (!inside) blocks.push_back({line.substr(3), "", number});
      inside = !inside;
    } else if (inside) {
      blocks.back().text += line + "\n";
    }
  }
  return blocks;
}

std::string runnable(const std::string& script) {
  std::istringstream lines(script);
  std::string result;
  for (std::string line; std::getline(lines, line);)
    if (!line.starts_with("tools/") && !line.starts_with("git clone") && !line.starts_with("cd "))
      result += line + "\n";
  return result;
}

/// A picture in docs/img is what the commands of the page have just written under its name; there
/// are no other pictures.
void expect_pictures_up_to_date(const std::string& file, const Workshop& workshop) {
  const std::string page = repository_file(file);
  const std::string folder = file.starts_with("docs/") ? "docs/" : "";
  const std::regex picture(R"(!\[[^\]]*\]\(([^)]+)\))");
  for (std::sregex_iterator match(page.begin(), page.end(), picture), end; match != end; ++match) {
    const std::string path = folder + (*match)[1].str();
    ASSERT_TRUE(path.starts_with("docs/img/")) << file << ": " << path;
    const std::string name = path.substr(9);
    // What a clock measured is never the same twice; the page names the command all the same.
    if (page.find("pipecast_scaling_plot bench.json > ../" + path) != std::string::npos) continue;
    EXPECT_TRUE(workshop.exists(name)) << file << ": no command writes " << name;
    EXPECT_TRUE(workshop.read(name) == repository_file(path))
        << name << " is out of date: run the command beside it and copy the file";
  }
}

void run_blocks_of(const std::string& file, std::size_t at_least) {
  const Workshop workshop;
  const std::vector<Block> blocks = fenced_blocks(repository_file(file));
  std::size_t ran = 0;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i].language != "sh") continue;
    const std::string script = runnable(blocks[i].text);
    if (script.empty()) continue;
    const Outcome outcome = workshop.sh("set -e\n" + script);
    EXPECT_EQ(outcome.code, 0) << file << ":" << blocks[i].line << "\n" << outcome.err;
    if (i + 1 < blocks.size() && blocks[i + 1].language == "text") {
      EXPECT_EQ(outcome.out, blocks[i + 1].text) << file << ":" << blocks[i + 1].line;
    }
    ++ran;
  }
  EXPECT_GE(ran, at_least) << file;
  expect_pictures_up_to_date(file, workshop);
}

TEST(Readme, EveryCommandRunsAndPrintsWhatIsShown) { run_blocks_of("README.md", 6); }

TEST(Docs, EveryCommandOfEveryPageRuns) {
  std::vector<std::string> pages;
  for (const auto& entry : std::filesystem::directory_iterator(PIPECAST_SOURCE_DIR "/docs"))
    if (entry.path().extension() == ".md") pages.push_back(entry.path().filename().string());
  std::sort(pages.begin(), pages.end());
  EXPECT_GE(pages.size(), 5u);
  for (const std::string& page : pages) run_blocks_of("docs/" + page, 0);
}

TEST(Docs, TheProgramOfTheLibraryPageIsTheOneThatIsBuilt) {
  std::string program;
  for (const Block& block : fenced_blocks(repository_file("docs/library.md")))
    if (block.language == "cpp" && block.text.find("int main()") != std::string::npos)
      program = block.text;
  EXPECT_EQ(program, repository_file("tests/install/consumer/main.cpp"));
}

TEST(Docs, TheGalleryIsWhatTheCommandWrites) {
  const Outcome outcome = Workshop().sh("pipecast schedule gallery");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, repository_file("docs/gallery.md"))
      << "pipecast schedule gallery -o docs/gallery.md writes it anew";
}

TEST(Docs, EveryPageIsListed) {
  const std::string index = repository_file("docs/README.md");
  for (const auto& entry : std::filesystem::directory_iterator(PIPECAST_SOURCE_DIR "/docs")) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".md") && name != "README.md") {
      EXPECT_NE(index.find("(" + name + ")"), std::string::npos) << name;
    }
  }
}

TEST(Docs, EveryPictureIsShown) {
  std::string pages = repository_file("README.md");
  for (const auto& entry : std::filesystem::directory_iterator(PIPECAST_SOURCE_DIR "/docs"))
    if (entry.path().extension() == ".md")
      pages += repository_file("docs/" + entry.path().filename().string());
  for (const auto& entry : std::filesystem::directory_iterator(PIPECAST_SOURCE_DIR "/docs/img")) {
    const std::string name = entry.path().filename().string();
    EXPECT_NE(pages.find("img/" + name + ")"), std::string::npos) << name;
  }
}

TEST(Help, EveryExampleRuns) {
  const Workshop workshop;
  workshop.sh("pipecast schedule export gpipe -p 4 -m 8 -o gpipe.csv");
  for (const char* command :
       {"", "run", "check", "schedule", "schedule list", "schedule show", "schedule export",
        "schedule check", "schedule gallery", "formulas", "import"}) {
    const std::string help = workshop.sh(std::string("pipecast ") + command + " --help").out;
    const std::size_t example = help.find("Example:\n  pipecast");
    ASSERT_NE(example, std::string::npos) << command << help;
    const Outcome outcome = workshop.sh(help.substr(example + 9));
    EXPECT_EQ(outcome.code, 0) << command << outcome.err;
  }
}

}  // namespace
}  // namespace pipecast::cli
