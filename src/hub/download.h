// One file of a model, from the hub to the disk.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "hub/http.h"
#include "hub/listing.h"
#include "hub/model_name.h"
#include "hub/retry.h"

namespace gumbel {

/// Fetches `file` of the main branch of `name` to `path`, unless it is there already. A file has
/// its name only once its length and digest were those of the listing; meanwhile it is
/// PATH.partial; what an earlier attempt left of it is not fetched again (Range, If-Range).
/// `received` is called with the bytes of the file that are there, now and then. Throws Error: kIo
/// for the connection, the disk and a server's refusal, kNotFound for status 404, kCorruptFile for
/// contents that are not those listed. Only the last of them loses what was fetched.
void download_file(HttpClient& client, const ModelName& name, const HubFile& file,
                   const std::filesystem::path& path, const RetryPolicy& policy,
                   const std::function<void(uint64_t bytes)>& received);

}  // namespace gumbel
