// table_test.cc - columns align, fit a width, and are painted only when asked.
#include "ctrl/cli/table.h"

#include "test/support/catch.h"

using namespace weir::cli;

namespace {

Table sample() {
    Table table({{"NAME"}, {"RATE", true, 1}, {"WORKER", true, 2}, {"DROPS"}});
    table.add_row({"vm1", "10 Gbit/s", "0", {"foreign_mac 12, vm_ring_full 3", Style::kWarn}});
    table.add_row({"long-name", "5 bit/s", "11", ""});
    return table;
}

}  // namespace

TEST_CASE("text aligns left, numbers right, and no line ends in blanks") {
    CHECK(sample().render(0, false) ==
          "NAME            RATE  WORKER  DROPS\n"
          "vm1        10 Gbit/s       0  foreign_mac 12, vm_ring_full 3\n"
          "long-name    5 bit/s      11\n");
}

TEST_CASE("a narrow terminal loses the columns of the highest rank first") {
    CHECK(sample().render(58, false) ==
          "NAME            RATE  DROPS\n"
          "vm1        10 Gbit/s  foreign_mac 12, vm_ring_full 3\n"
          "long-name    5 bit/s\n");
    CHECK(sample().render(45, false) ==
          "NAME       DROPS\n"
          "vm1        foreign_mac 12, vm_ring_full 3\n"
          "long-name\n");
}

TEST_CASE("what still does not fit is cut in the last column") {
    CHECK(sample().render(25, false) ==
          "NAME       DROPS\n"
          "vm1        foreign_mac...\n"
          "long-name\n");
    for (std::size_t width = 1; width < 12; ++width)
        CHECK_FALSE(sample().render(width, true).empty());
}

TEST_CASE("color wraps the cell and not its padding") {
    Table table({{"A", true}, {"B"}});
    table.add_row({{"7", Style::kBad}, "x"});
    CHECK(table.render(0, true) == "\x1b[1mA\x1b[0m  \x1b[1mB\x1b[0m\n\x1b[31m7\x1b[0m  x\n");
    CHECK(styled("up", Style::kGood, false) == "up");
    CHECK(styled("up", Style::kPlain, true) == "up");
}

TEST_CASE("a table without rows is its titles") {
    CHECK(Table({{"A"}, {"B"}}).render(80, false) == "A  B\n");
}
