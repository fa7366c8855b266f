#include "hub/local_hub.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace gumbel::test {

LocalHub::LocalHub() {
  // A proxy of the machine must not be asked for what is on it.
  ::setenv("NO_PROXY", "127.0.0.1", 1);
  ::setenv("no_proxy", "127.0.0.1", 1);
  int pipe[2];
  if (::pipe(pipe) != 0) throw std::runtime_error("pipe");
  const std::string script = GUMBEL_HUB_SERVER;
  const std::string root = folder_.path().string();
  child_ = ::fork();
  if (child_ == 0) {
    ::dup2(pipe[1], STDOUT_FILENO);
    ::close(pipe[0]);
    ::close(pipe[1]);
    ::execlp(GUMBEL_PYTHON, GUMBEL_PYTHON, script.c_str(), root.c_str(), nullptr);
    ::_exit(127);
  }
  ::close(pipe[1]);
  std::string port;
  for (char c = 0; ::read(pipe[0], &c, 1) == 1 && c != '\n';) port += c;
  ::close(pipe[0]);
  EXPECT_FALSE(port.empty()) << "the server did not start";
  url_ = "http://127.0.0.1:" + port;
}

LocalHub::~LocalHub() {
  ::kill(child_, SIGKILL);
  ::waitpid(child_, nullptr, 0);
}

void LocalHub::add(const std::string& path, std::string_view contents) const {
  std::filesystem::create_directories((root() / path).parent_path());
  folder_.write(path, contents);
}

void LocalHub::set_faults(const nlohmann::json& faults) {
  // In one step: the server may be reading it.
  folder_.write("faults.new", nlohmann::json::array({++version_, faults}).dump());
  std::filesystem::rename(root() / "faults.new", root() / "faults.json");
}

std::vector<nlohmann::json> LocalHub::requests() const {
  std::vector<nlohmann::json> requests;
  std::ifstream log(root() / "log.jsonl");
  for (std::string line; std::getline(log, line);) requests.push_back(nlohmann::json::parse(line));
  return requests;
}

}  // namespace gumbel::test
