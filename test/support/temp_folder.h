// temp_folder.h - a folder that is removed at the end of the test.
// Threads: tests only.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "test/support/catch.h"

namespace weir::test {

class TempFolder {
  public:
    TempFolder() : path_((std::filesystem::temp_directory_path() / "weir-test-XXXXXX").string()) {
        REQUIRE(mkdtemp(path_.data()) != nullptr);
    }
    ~TempFolder() { std::filesystem::remove_all(path_); }
    TempFolder(const TempFolder&) = delete;
    TempFolder& operator=(const TempFolder&) = delete;

    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] std::string file(const std::string& name) const { return path_ + '/' + name; }

  private:
    std::string path_;
};

}  // namespace weir::test
