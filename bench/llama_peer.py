"""One measurement of llama.cpp, as `gumbel bench` makes one of Gumbel: prints a JSON object.

    llama_peer.py MODEL.gguf PROMPT_TOKENS NEW_TOKENS THREADS TEMPERATURE TOP_K TOP_P

Prompt tokens are random, and the end of a turn does not end the run. Works on llama.cpp's C interface;
sampling is its own chain, in llama-cli's order.
"""
import json
import random
import sys
import time

import llama_cpp as ll


def main():
    path, prompt_tokens, new_tokens, threads = sys.argv[1], *map(int, sys.argv[2:5])
    temperature, top_k, top_p = float(sys.argv[5]), int(sys.argv[6]), float(sys.argv[7])
    quiet = ll.llama_log_callback(lambda level, text, data: None)
    ll.llama_log_set(quiet, None)
    ll.llama_backend_init()
    start = time.perf_counter()
    model = ll.llama_model_load_from_file(path.encode(), ll.llama_model_default_params())
    parameters = ll.llama_context_default_params()
    parameters.n_ctx = prompt_tokens + new_tokens + 8
    parameters.n_batch = 2048
    parameters.n_threads = parameters.n_threads_batch = threads
    context = ll.llama_init_from_model(model, parameters)
    load_seconds = time.perf_counter() - start

    vocab_size = ll.llama_vocab_n_tokens(ll.llama_model_get_vocab(model))
    chain = ll.llama_sampler_chain_init(ll.llama_sampler_chain_default_params())
    if temperature <= 0:
        ll.llama_sampler_chain_add(chain, ll.llama_sampler_init_greedy())
    else:
        if top_k > 0:
            ll.llama_sampler_chain_add(chain, ll.llama_sampler_init_top_k(top_k))
        if top_p < 1:
            ll.llama_sampler_chain_add(chain, ll.llama_sampler_init_top_p(top_p, 1))
        ll.llama_sampler_chain_add(chain, ll.llama_sampler_init_temp(temperature))
        ll.llama_sampler_chain_add(chain, ll.llama_sampler_init_dist(0))

    random.seed(1)
    tokens = (ll.llama_token * prompt_tokens)(*(random.randrange(vocab_size) for _ in range(prompt_tokens)))
    start = time.perf_counter()
    assert ll.llama_decode(context, ll.llama_batch_get_one(tokens, prompt_tokens)) == 0
    token = ll.llama_sampler_sample(chain, context, -1)
    prefill_seconds = time.perf_counter() - start

    one = (ll.llama_token * 1)()
    start = time.perf_counter()
    sampling_seconds = 0.0
    for _ in range(new_tokens):
        one[0] = token
        assert ll.llama_decode(context, ll.llama_batch_get_one(one, 1)) == 0
        ll.llama_synchronize(context)
        before = time.perf_counter()
        token = ll.llama_sampler_sample(chain, context, -1)
        sampling_seconds += time.perf_counter() - before
    decode_seconds = time.perf_counter() - start
    print(
        json.dumps(
            {
                "prefill_tokens_per_s": prompt_tokens / prefill_seconds,
                "decode_tokens_per_s": new_tokens / decode_seconds,
                "sampling_ms_per_token": sampling_seconds * 1e3 / new_tokens,
                "load_ms": load_seconds * 1e3,
            }
        )
    )


main()
