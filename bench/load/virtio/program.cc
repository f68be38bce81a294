// program.cc - command line, EAL and events of the generators on virtio-user ports.
#include "bench/load/virtio/program.h"

#include <rte_eal.h>
#include <rte_lcore.h>

#include <exception>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace weir::load {

using Json = nlohmann::json;

void print_event(const Json& event) {
    std::cout << event << std::endl;
}

unsigned polling_core() {
    return rte_get_next_lcore(~0U, 1, 0);
}

Ports open_ports(const std::string& program, const LoadSpec& spec) {
    std::vector<std::string> words{program};
    words.insert(words.end(), spec.eal.begin(), spec.eal.end());
    std::vector<char*> args;
    for (std::string& word : words)
        args.push_back(word.data());
    if (rte_eal_init(static_cast<int>(args.size()), args.data()) < 0)
        throw std::runtime_error("EAL does not start");
    if (polling_core() == RTE_MAX_LCORE)
        throw std::runtime_error("eal: found one lcore; two are needed, e.g. --lcores 0@0,1@1");
    Ports ports;
    for (std::size_t i = 0; i < spec.ports.size(); ++i) {
        print_event({{"event", "listening"}, {"port", i}, {"path", spec.ports[i].path}});
        ports.push_back(std::make_unique<Port>(i, spec.ports[i]));
    }
    return ports;
}

void serve_lines(const std::function<void(const Json&)>& execute) {
    for (std::string line; std::getline(std::cin, line);) {
        try {
            execute(Json::parse(line));
        } catch (const std::exception& error) {
            print_event({{"event", "error"}, {"message", error.what()}});
        }
    }
}

int run_program(const std::string& program, int argc, char** argv, void (*work)(const LoadSpec&)) {
    if (argc != 2) {
        std::cerr << "usage: " << program << " SPEC.json\n";
        return 2;
    }
    try {
        std::ifstream file(argv[1]);
        work(parse_load(Json::parse(file)));
    } catch (const std::exception& error) {
        std::cerr << program << ": " << argv[1] << ": " << error.what() << '\n';
        return 2;
    }
    return rte_eal_cleanup() == 0 ? 0 : 1;
}

}  // namespace weir::load
