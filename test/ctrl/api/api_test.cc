// api_test.cc - requests to the API over a real port, with a thread that answers as the controller's loop.
#include "ctrl/api/api.h"

#include <sys/stat.h>

#include <atomic>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "test/common/http/http_client.h"
#include "test/support/catch.h"
#include "test/support/temp_folder.h"
#include "test/support/text.h"

using namespace weir;
using namespace weir::test;
using nlohmann::json;

namespace {

constexpr const char* kStatus =
    R"({"revision": 4, "hosts": [{"name": "h1", "state": "absent"}], "appliances": []})";

/// Answers as a loop, but for the time in which it holds its replies.
class FakeLoop {
  public:
    explicit FakeLoop(CommandDesk& desk) : desk_(desk), thread_([this] { run(); }) {}
    ~FakeLoop() {
        stop_ = true;
        thread_.join();
    }
    FakeLoop(const FakeLoop&) = delete;
    FakeLoop& operator=(const FakeLoop&) = delete;

    std::atomic<bool> holds{false};
    std::atomic<int> commands{0};
    std::string peer_of_change() const {
        const std::lock_guard lock(mutex_);
        return peer_;
    }
    json last() const {
        const std::lock_guard lock(mutex_);
        return last_;
    }

  private:
    void run() {
        while (!stop_) {
            auto command = holds ? std::nullopt : desk_.take();
            if (!command) {
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
                continue;
            }
            ++commands;
            desk_.reply(command->ticket, reply_to(*command));
        }
    }
    std::string reply_to(const CommandDesk::Command& command) {
        const json request = json::parse(command.text);
        const std::string name = request["command"];
        const std::lock_guard lock(mutex_);
        last_ = request;
        if (command.may_change)
            peer_ = command.peer;
        json data = json::object();
        if (name == "status")
            data = json::parse(kStatus);
        if (name == "specification")
            data = {{"revision", 4},
                    {"text", "{\"tenants\": [{\"name\": \"A\", \"vnics\": [{\"name\": \"a1\"}]}]} // end"}};
        if (name == "audit")
            data = {{"entries", json::array({{{"number", 1}, {"stored", true}}})}, {"more", false}};
        if (name == "why")
            return R"({"schema":1,"ok":false,"faults":[{"path":"name","found":"x","allowed":"","message":""}]})";
        if (name == "bill")
            return json{{"schema", 1}, {"ok", false}, {"faults", {{{"path", kBusyPath}}}}}.dump();
        return json{{"schema", 1}, {"ok", true}, {"data", data}}.dump();
    }

    CommandDesk& desk_;
    std::atomic<bool> stop_{false};
    mutable std::mutex mutex_;
    std::string peer_;
    json last_;
    std::thread thread_;
};

constexpr SiteFile kSite[] = {{"/", "text/html; charset=utf-8", "<!doctype html>\n"}};

struct Served {
    TempFolder folder;
    NewToken viewer = make_token("viewer", Role::kView);
    NewToken ops = make_token("ops", Role::kOperate);
    std::vector<NewToken> others = {make_token("third", Role::kView), make_token("fourth", Role::kView)};
    Listener listener;
    CommandDesk desk;
    FakeLoop loop{desk};
    Api api{desk, tokens(), false, kSite};
    HttpService service{listener.descriptor, kApiLimits, {}, api};

    Served() {
        desk.set_wake([this] { service.wake(); });
    }
    ~Served() { desk.set_wake({}); }

    TokenFile tokens() const {
        const std::string path = folder.file("tokens");
        std::ofstream file(path);
        for (const NewToken* each : {&viewer, &ops, &others[0], &others[1]})
            file << each->token.to_line() << '\n';
        file.close();
        REQUIRE(::chmod(path.c_str(), 0600) == 0);
        return TokenFile(path);
    }
    HttpClient client() { return HttpClient(listener.port); }
    static std::string head(const std::string& line, const std::string& secret, const std::string& headers) {
        return line + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" +
               (secret.empty() ? "" : "Authorization: Bearer " + secret + "\r\n") + headers + "\r\n";
    }
    std::string get(const std::string& path, const std::string& secret, const std::string& headers = "") {
        return client().send(head("GET " + path, secret, headers)).receive();
    }
    std::string get(const std::string& path) { return get(path, viewer.secret); }
    std::string post(const std::string& path, const std::string& secret, const std::string& body,
                     const std::string& headers) {
        return client()
            .send(head("POST " + path, secret,
                       "Content-Length: " + std::to_string(body.size()) + "\r\n" + headers) +
                  body)
            .receive();
    }
    std::string change(const std::string& key, const std::string& body = R"({"text": "{}", "base": 4})") {
        return post("/api/v1/specification", ops.secret, body,
                    "Content-Type: application/json\r\nIdempotency-Key: " + key + "\r\n");
    }
};

int status_of(const std::string& answer) {
    return answer.starts_with("HTTP/1.1 ") ? std::stoi(answer.substr(9, 3)) : 0;
}

json body_of(const std::string& answer) {
    return json::parse(answer.substr(answer.find("\r\n\r\n") + 4));
}

std::string fault_of(const std::string& answer) {
    return body_of(answer)["faults"][0]["path"];
}

}  // namespace

TEST_CASE("a reply is the command's, and views are parts of it") {
    Served served;
    const std::string answer = served.get("/api/v1/status");
    CHECK(status_of(answer) == 200);
    CHECK(has(answer, "Content-Type: application/json\r\n"));
    CHECK(has(answer, "Cache-Control: no-store\r\n"));
    CHECK(has(answer, "X-Content-Type-Options: nosniff\r\n"));
    CHECK(body_of(answer) == json{{"schema", 1}, {"ok", true}, {"data", json::parse(kStatus)}});
    CHECK(body_of(served.get("/api/v1/hosts"))["data"] == json::parse(kStatus)["hosts"]);
    CHECK(body_of(served.get("/api/v1/hosts/h1"))["data"]["state"] == "absent");
    CHECK(status_of(served.get("/api/v1/hosts/h2")) == 404);
    CHECK(body_of(served.get("/api/v1/vnics?tenant=A"))["data"] ==
          json::parse(R"([{"name": "a1", "tenant": "A"}])"));
    CHECK(status_of(served.get("/api/v1/vnics?tenant=B")) == 404);
    CHECK(status_of(served.get("/api/v1/vnics/x")) == 404);
    const std::string busy = served.get("/api/v1/bill?tenant=A");
    CHECK(status_of(busy) == 503);
    CHECK(has(busy, "Retry-After: 1\r\n"));
    CHECK(served.loop.last() == json{{"schema", 1}, {"command", "bill"}, {"args", {{"tenant", "A"}}}});
}

TEST_CASE("without a token, with a wrong one, or with too small a role a request is refused") {
    Served served;
    const std::string without = served.get("/api/v1/status", "");
    CHECK(status_of(without) == 401);
    CHECK(has(without, "WWW-Authenticate: Bearer\r\n"));
    CHECK(fault_of(without) == "Authorization");
    CHECK(status_of(served.get("/api/v1/status", served.viewer.secret + "x")) == 401);
    CHECK(status_of(served.get("/api/v1/status?token=" + served.viewer.secret, "")) == 401);
    CHECK(status_of(served.get("/api/v1/nothing", "")) == 401);
    CHECK(status_of(served.get("/api/v1/status", "",
                               "Authorization: Basic " + served.viewer.secret + "\r\n")) == 401);
    CHECK(status_of(served.get("/api/v1/status", served.ops.secret)) == 200);
    CHECK(status_of(served.post("/api/v1/specification", served.viewer.secret, "{}", "")) == 403);
    CHECK(served.desk.counters().unauthorized == 5);
    CHECK(served.desk.counters().forbidden == 1);
    CHECK(served.loop.commands == 1);
}

TEST_CASE("requests of other sites are refused, those of this one and of no site are not") {
    Served served;
    for (const char* headers :
         {"Origin: http://evil.example\r\n", "Origin: null\r\n", "Origin: https://x.evil\r\n",
          "Origin: http://x.evil\r\n", "Origin: http://x:1\r\n", "Sec-Fetch-Site: cross-site\r\n",
          "Sec-Fetch-Site: same-site\r\n"}) {
        INFO(headers);
        CHECK(status_of(served.get("/api/v1/status", served.viewer.secret, headers)) == 403);
        CHECK(status_of(served.get("/", "", headers)) == 200);  // a link; the page itself has no values
    }
    CHECK(served.desk.counters().cross_site == 7);
    for (const char* headers : {"Origin: http://x\r\n", "Origin: https://x\r\n",
                                "Sec-Fetch-Site: same-origin\r\n", "Sec-Fetch-Site: none\r\n"})
        CHECK(status_of(served.get("/api/v1/status", served.viewer.secret, headers)) == 200);
    CHECK(status_of(served.client()
                        .send(Served::head("OPTIONS /api/v1/status", served.viewer.secret, ""))
                        .receive()) == 405);
}

TEST_CASE("a change has the token's name, comes once, and has a body of the table") {
    Served served;
    CHECK(status_of(served.change("key-00001")) == 200);
    CHECK(served.loop.peer_of_change() == "token ops, 127.0.0.1");
    CHECK(served.loop.last()["args"] ==
          json{{"text", "{}"}, {"base", 4}, {"via", "POST /api/v1/specification"}});
    CHECK(status_of(served.change("key-00001")) == 409);
    CHECK(served.desk.counters().replayed == 1);
    CHECK(status_of(served.change("key-00002")) == 200);
    CHECK(fault_of(served.change("short")) == "Idempotency-Key");
    CHECK(fault_of(served.change("key-00003", R"({"text": "{}"})")) == "base");
    CHECK(status_of(served.change("key-00003", "{")) == 400);
    CHECK(status_of(served.change("key-00003")) == 200);  // a refused change did not use the key
    CHECK(served.loop.commands == 3);
}

TEST_CASE("of two changes with one key on the way one is refused") {
    Served served;
    const std::string body = R"({"text": "{}", "base": 4})";
    const std::string head =
        Served::head("POST /api/v1/specification", served.ops.secret,
                     "Content-Length: " + std::to_string(body.size()) +
                         "\r\nContent-Type: application/json\r\nIdempotency-Key: key-00001\r\n"
                         "Expect: 100-continue\r\n");
    HttpClient first = served.client();
    HttpClient second = served.client();
    for (HttpClient* client : {&first, &second})  // both heads are accepted before the key is used
        REQUIRE(client->send(head).receive("\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n");
    first.send(body);
    CHECK(status_of(first.receive()) == 200);
    second.send(body);
    CHECK(status_of(second.receive()) == 409);
    CHECK(served.loop.commands == 1);
}

TEST_CASE("of one reply a bounded number of pages is kept, whatever clients ask for") {
    Views views;
    const auto page = json_page(200, "{}");
    for (int i = 0; i < 1000; ++i) {
        views.keep("/vnics?tenant=" + std::to_string(i), page);
        CHECK(views.find("/vnics?tenant=" + std::to_string(i)) == page);
        CHECK(views.size() <= Views::kKept);
    }
    CHECK(views.find("/vnics?tenant=0") == nullptr);
}

TEST_CASE("bodies that are too large, of another type or of unknown length are refused before they come") {
    Served served;
    const std::string json_type = "Content-Type: application/json\r\nIdempotency-Key: key-00001\r\n";
    const auto head_only = [&](const std::string& headers) {
        return served.client()
            .send(Served::head("POST /api/v1/specification", served.ops.secret, headers))
            .receive();
    };
    CHECK(status_of(head_only(json_type + "Content-Length: 67108865\r\n")) == 413);
    CHECK(status_of(head_only(json_type + "Transfer-Encoding: chunked\r\n")) == 411);
    CHECK(status_of(head_only("Content-Type: text/plain\r\nContent-Length: 2\r\n")) == 415);
    CHECK(status_of(head_only("Content-Length: 2\r\n")) == 415);
    CHECK(status_of(served.get("/api/v1/status", served.viewer.secret, "Content-Length: 5\r\n")) == 400);
    CHECK(status_of(served.get("/api/v1/status", served.viewer.secret, "Transfer-Encoding:\r\n")) == 411);
    CHECK(status_of(served.get("/api/v1/status", served.viewer.secret,
                               "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n")) == 400);
    CHECK(status_of(served.get("/api/v1/status?x=1")) == 400);
    CHECK(status_of(served.get("/api/v1/nothing")) == 404);
    CHECK(status_of(served.post("/api/v1/status", served.ops.secret, "", "")) == 405);
    CHECK(served.loop.commands == 0);
}

TEST_CASE("a hundred viewers cost the loop one command a second") {
    Served served;
    served.loop.holds = true;
    std::vector<HttpClient> viewers;
    for (int i = 0; i < 100; ++i)
        viewers.push_back(
            std::move(served.client().send(Served::head("GET /api/v1/status", served.viewer.secret, ""))));
    REQUIRE(testing::until([&] { return served.desk.counters().connections == 100; }));
    served.loop.holds = false;
    for (HttpClient& viewer : viewers)
        CHECK(status_of(viewer.receive()) == 200);
    CHECK(served.loop.commands <= 2);  // the first one may have left before the last viewer came
}

TEST_CASE("more questions than the loop takes are refused with a time to wait") {
    Served served;
    served.loop.holds = true;
    std::vector<HttpClient> clients;
    const auto ask_all = [&](const std::string& secret) {
        for (std::size_t i = 0; i < Sources::kCommandsPerClient; ++i)
            clients.push_back(std::move(served.client().send(
                Served::head("GET /api/v1/audit?last=" + std::to_string(clients.size() + 1), secret, ""))));
        REQUIRE(testing::until([&] { return served.desk.counters().connections == clients.size(); }));
    };
    const auto refused = [&](const std::string& secret) {
        const std::string answer = served.get("/api/v1/audit?last=999", secret);
        return status_of(answer) == 503 && fault_of(answer) == "commands";
    };
    ask_all(served.viewer.secret);
    CHECK(refused(served.viewer.secret));
    ask_all(served.ops.secret);  // one token's questions keep no other waiting
    ask_all(served.others[0].secret);
    ask_all(served.others[1].secret);
    CHECK(clients.size() == CommandDesk::kCommandsMax);
    CHECK(refused(served.ops.secret));
    served.loop.holds = false;
    for (HttpClient& client : clients)
        CHECK(status_of(client.receive()) == 200);
    CHECK(status_of(served.get("/api/v1/audit?last=999")) == 200);
}

TEST_CASE("events are a stream, and a server that stops ends it") {
    auto served = std::make_unique<Served>();
    HttpClient stream = served->client();
    stream.send("GET /api/v1/events HTTP/1.1\r\nHost: x\r\nLast-Event-ID: 0\r\nAuthorization: Bearer " +
                served->viewer.secret + "\r\n\r\n");
    CHECK(testing::until([&] { return served->loop.commands > 0; }));
    CHECK(served->desk.counters().streams == 1);
    const std::string all = stream.receive("id: 1\nevent: audit\ndata: {");
    CHECK(has(all, "Content-Type: text/event-stream\r\n"));
    served.reset();
    (void)stream.receive();  // which ends
}

TEST_CASE("pages of a console need no token and have a strict policy") {
    Served served;
    const std::string page = served.get("/", "");
    CHECK(status_of(page) == 200);
    CHECK(has(page,
              "Content-Security-Policy: default-src 'self'; base-uri 'none'; form-action 'none'; "
              "frame-ancestors 'none'; object-src 'none'\r\n"));
    CHECK(has(page, "X-Frame-Options: DENY\r\n"));
    CHECK(status_of(served.get("/app.js", "")) == 404);
    CHECK(status_of(served.get("/../etc/passwd", "")) == 404);
    CHECK(status_of(served.client().send(Served::head("DELETE /", "", "")).receive()) == 405);
}

TEST_CASE("malformed and oversized heads end their own connection alone") {
    Served served;
    const std::string long_line(2 * kApiLimits.head_bytes, 'a');
    for (const std::string& request :
         {std::string("\r\n\r\n\r\n\r\nx\r\n\r\n"), std::string("\0\0\0\0\r\n\r\n", 8),
          std::string("GET\r\n\r\n"), std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 15),
          "GET /" + long_line, "GET /api/v1/status HTTP/1.1\r\nX: " + long_line + "\r\n\r\n"}) {
        HttpClient broken = served.client();
        broken.send(request);
        CHECK_FALSE(has(broken.receive(), " 200 OK"));
    }
    CHECK(status_of(served.get("/api/v1/status")) == 200);
}

TEST_CASE("clients without a token make room for others, and a trusted one keeps its place") {
    Served served;
    served.loop.holds = true;
    HttpClient trusted = served.client();
    trusted.send(Served::head("GET /api/v1/status", served.viewer.secret, ""));
    REQUIRE(testing::until([&] { return served.service.counters().open == 1; }));
    std::vector<HttpClient> idle;
    for (std::size_t i = 0; i < 2 * kApiLimits.connections_of_address; ++i) {
        idle.push_back(served.client());
        idle.back().send("GET /api/v1/status HTTP/1.1\r\nX: ");
    }
    REQUIRE(testing::until(
        [&] { return served.service.counters().displaced >= kApiLimits.connections_of_address; }));
    served.loop.holds = false;
    CHECK(status_of(trusted.receive()) == 200);
    CHECK(status_of(served.get("/api/v1/status")) == 200);
    CHECK(served.service.counters().open <= kApiLimits.connections_of_address + 64);
}
