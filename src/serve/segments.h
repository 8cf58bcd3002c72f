/*
 * segments.h - the run by segments of equally many arrivals, for what changes with time: warm-up, drift, batch means.
 *
 * The load is read off at each arrival that ends a segment; values of requests go to the segment in which they arrived,
 * whenever they end. Costs an addition per value. In a single steady run, whose intervals must come from within, segments
 * have histograms too.
 */
#ifndef KVSIM_SERVE_SEGMENTS_H
#define KVSIM_SERVE_SEGMENTS_H

#include "serve/serve_int.h"

void serve_segments_begin(struct serve *serve);
void serve_segments_end(struct serve *serve); /* releases what the run alone needed */
/* Before the arrival is counted: ends the segment when it is full. True when it did. */
bool serve_segments_note_arrival(struct serve *serve, base_i128 now);
/* Merges neighbours when all are full: before anything else is added. */
void serve_segments_make_room(struct serve *serve);
/* A completed request's value of one metric; `index` is its number by arrival. */
void serve_segments_add(struct serve *serve, uint64_t index, enum spec_metric metric,
                        int64_t value_ns);
void serve_segments_note_completion(struct serve *serve, bool is_good, int64_t prompt_tokens,
                                    int64_t output_tokens);

void serve_segment_release(struct serve_segment *segment);

#endif
