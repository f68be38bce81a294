// token_test.cc - tokens, the file of their hashes, its mode, and files with faults.
#include "ctrl/api/token.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "common/error.h"
#include "test/support/catch.h"
#include "test/support/temp_folder.h"

using namespace weir;

namespace {

struct Folder {
    test::TempFolder folder;
    std::string path = folder.file("tokens");

    void write(const std::string& text, mode_t mode = 0600) const {
        std::ofstream(path) << text;
        REQUIRE(::chmod(path.c_str(), mode) == 0);
    }
    std::string fault_of(const std::string& text) const {
        write(text);
        try {
            const TokenFile file(path);
        } catch (const HostError& error) {
            return error.what();
        }
        return {};
    }
};

}  // namespace

TEST_CASE("a new token is found by its secret alone, and its line has no secret") {
    const Folder folder;
    const NewToken viewer = make_token("grafana", Role::kView);
    const NewToken operator_ = make_token("ops", Role::kOperate);
    CHECK(viewer.secret.size() == 48);
    CHECK(viewer.secret != operator_.secret);
    CHECK(viewer.token.to_line().starts_with("grafana view "));
    CHECK_FALSE(viewer.token.to_line().find(viewer.secret) != std::string::npos);
    folder.write("# tokens\n\n" + viewer.token.to_line() + "\n" + operator_.token.to_line() + "\n");
    const TokenFile file(folder.path);
    CHECK(file.size() == 2);
    REQUIRE(file.find(operator_.secret) != nullptr);
    CHECK(file.find(operator_.secret)->name == "ops");
    CHECK(file.find(operator_.secret)->role == Role::kOperate);
    CHECK(file.find(viewer.secret)->role == Role::kView);
    CHECK(file.find("") == nullptr);
    CHECK(file.find(viewer.secret + "x") == nullptr);
    CHECK(file.find(viewer.token.to_line().substr(13)) == nullptr);
}

TEST_CASE("the hash of a token is its SHA-256") {
    const Folder folder;
    folder.write("t view ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\n");
    CHECK(TokenFile(folder.path).find("abc") != nullptr);
}

TEST_CASE("a file that other users may open is refused with the command that mends it") {
    const Folder folder;
    folder.write("", 0640);
    CHECK_THROWS_WITH(
        TokenFile(folder.path),
        "api.token_file: " + folder.path + " is open to other users (mode 0640): chmod 600 " + folder.path);
    CHECK_THROWS_WITH(TokenFile(folder.path + "no"), ContainsSubstring("cannot be read (No such file"));
    CHECK_THROWS_WITH(TokenFile(folder.folder.path()), ContainsSubstring("is no file"));
    folder.write("", 0400);
    CHECK(TokenFile(folder.path).size() == 0);
}

TEST_CASE("each line with a fault is named") {
    const Folder folder;
    const std::string good = make_token("a", Role::kView).token.to_line();
    const std::string hash = good.substr(7);
    CHECK(folder.fault_of(good).empty());
    for (const std::string& line :
         {std::string("a view"), "a admin " + hash, "a view " + hash.substr(2), "a view " + hash + "00",
          "a view " + hash + " b", "a/b view " + hash, "a view " + hash.substr(2) + "zz"}) {
        INFO(line);
        CHECK_THAT(folder.fault_of("\n" + line + "\n"),
                   ContainsSubstring("line 2: a line has a name, a role"));
    }
    CHECK_THAT(folder.fault_of(good + "\n" + good), ContainsSubstring("line 2: there is a token a already"));
}

TEST_CASE("a changed file counts at once, and one with faults changes nothing") {
    const Folder folder;
    const NewToken first = make_token("first", Role::kView);
    const NewToken second = make_token("second", Role::kView);
    folder.write(first.token.to_line());
    TokenFile file(folder.path);
    CHECK(file.refresh().empty());
    folder.write(second.token.to_line() + "\n");
    CHECK(file.refresh().empty());
    CHECK(file.find(first.secret) == nullptr);
    CHECK(file.find(second.secret) != nullptr);
    CHECK(file.has(second.token));
    CHECK_FALSE(file.has(first.token));
    folder.write("nonsense");
    CHECK_THAT(file.refresh(), ContainsSubstring("line 1"));
    CHECK(file.refresh().empty());  // it is reported once
    CHECK_THAT(file.fault(), ContainsSubstring("line 1"));
    CHECK(file.find(second.secret) == nullptr);
}

TEST_CASE(
    "a token ends with its line, its file or the file's mode, and a line with a fault lets no new one in") {
    const Folder folder;
    const NewToken first = make_token("first", Role::kOperate);
    const NewToken second = make_token("second", Role::kView);
    const NewToken third = make_token("third", Role::kView);
    const std::string two = first.token.to_line() + "\n" + second.token.to_line() + "\n";
    folder.write(two);
    TokenFile file(folder.path);
    folder.write(second.token.to_line() + "\nnonsense\n" + third.token.to_line() + "\n");
    CHECK_THAT(file.refresh(), ContainsSubstring("line 2"));
    CHECK_FALSE(file.has(first.token));
    CHECK(file.has(second.token));
    CHECK_FALSE(file.has(third.token));
    folder.write(two);
    CHECK(file.refresh().empty());
    CHECK(file.fault().empty());
    CHECK(file.has(first.token));
    std::filesystem::permissions(folder.path, std::filesystem::perms(0644));
    CHECK_THAT(file.refresh(), ContainsSubstring("chmod 600"));
    CHECK(file.size() == 0);
    std::filesystem::permissions(folder.path, std::filesystem::perms(0600));
    CHECK(file.refresh().empty());
    CHECK(file.size() == 2);
    std::filesystem::remove(folder.path);
    CHECK_THAT(file.refresh(), ContainsSubstring("cannot be read"));
    CHECK(file.find(first.secret) == nullptr);
    CHECK(file.size() == 0);
}
