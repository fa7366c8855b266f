// Whether a model's LM head is its embedding table, by what the checkpoint stores.
#pragma once

#include "export/import.h"

namespace gumbel {

/// Settles `model.config.tied_embeddings` where the checkpoint stores both the embedding table and
/// an LM head, whatever the configuration says: equal tables are tied, which one of them serves;
/// tables that differ are not, with a note where the configuration ties them. Reads at most both
/// tables, and stops at the first difference. Throws Error where one has not the shape of the
/// vocabulary and the hidden size.
void settle_tied_tables(ImportedModel& model);

}  // namespace gumbel
