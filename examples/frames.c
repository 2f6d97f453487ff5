/* SPDX-License-Identifier: Apache-2.0 */
/* frames.c - frames from GStreamer to a driver, without a copy
 *
 *     frames [N]        N frames of videotestsrc (default 20)
 *
 * The pipeline is offered an allocator whose memories are hardware buffers, so
 * that the source writes each frame where the driver will read it. A pool uses a
 * few buffers in turn; each is made known to the driver once. */
#include "color.h"

#include <nnhal/ext.h>

#include <gst/allocators/gstfdmemory.h>
#include <gst/app/gstappsink.h>
#include <gst/gst.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SKIPPED = 77 };

/* -- an allocator of hardware buffers ----------------------------------------- */

typedef struct {
    GstFdAllocator parent;
} FrameAllocator;

typedef struct {
    GstFdAllocatorClass parent;
} FrameAllocatorClass;

GType frame_allocator_get_type(void);

G_DEFINE_TYPE(FrameAllocator, frame_allocator, GST_TYPE_FD_ALLOCATOR)

static GQuark memory_quark(void)
{
    return g_quark_from_static_string("nnhal-memory");
}

static void free_memory(gpointer memory)
{
    ANeuralNetworksMemory_free(memory);
}

/* The memory of the neural network goes with the one of GStreamer, and keeps the
 * hardware buffer. */
static GstMemory *frame_alloc(GstAllocator *allocator, gsize size, GstAllocationParams *params)
{
    const AHardwareBuffer_Desc desc = {
        .width = (uint32_t)size,
        .height = 1,
        .layers = 1,
        .format = AHARDWAREBUFFER_FORMAT_BLOB,
        .usage = AHARDWAREBUFFER_USAGE_CPU_READ_OFTEN | AHARDWAREBUFFER_USAGE_CPU_WRITE_OFTEN,
    };
    struct nnhal_hardware_buffer_info info = {.size = sizeof(info)};
    ANeuralNetworksMemory *memory = NULL;
    AHardwareBuffer *buffer = NULL;
    GstMemory *frame = NULL;

    if (AHardwareBuffer_allocate(&desc, &buffer) != 0)
        return NULL;
    if (ANeuralNetworksMemory_createFromAHardwareBuffer(buffer, &memory) ==
            ANEURALNETWORKS_NO_ERROR &&
        nnhal_hardware_buffer_get_info(buffer, &info) == 0)
        frame = gst_fd_allocator_alloc(allocator, dup(info.fd), size,
                                       GST_FD_MEMORY_FLAG_KEEP_MAPPED);
    if (frame)
        gst_mini_object_set_qdata(GST_MINI_OBJECT(frame), memory_quark(), memory, free_memory);
    else
        ANeuralNetworksMemory_free(memory);
    AHardwareBuffer_release(buffer);
    return frame;
}

static void frame_allocator_class_init(FrameAllocatorClass *class)
{
    GST_ALLOCATOR_CLASS(class)->alloc = frame_alloc;
}

static void frame_allocator_init(FrameAllocator *allocator)
{
    GST_OBJECT_FLAG_UNSET(allocator, GST_ALLOCATOR_FLAG_CUSTOM_ALLOC);
}

/* -- the pipeline --------------------------------------------------------------- */

/* Answers what the source asks before its first frame. */
static GstPadProbeReturn offer(GstPad *pad, GstPadProbeInfo *info, gpointer allocator)
{
    GstQuery *query = GST_PAD_PROBE_INFO_QUERY(info);

    if (GST_QUERY_TYPE(query) != GST_QUERY_ALLOCATION)
        return GST_PAD_PROBE_OK;
    gst_query_add_allocation_param(query, allocator, NULL);
    return GST_PAD_PROBE_HANDLED;
}

static GstElement *make_pipeline(int n_frames, GstAllocator *allocator, GstElement **ret_sink)
{
    char text[300];
    GstElement *pipeline;
    GstPad *pad;

    snprintf(text, sizeof(text),
             "videotestsrc num-buffers=%d pattern=ball ! video/x-raw,format=RGB,width=%d,height=%d "
             "! appsink name=sink sync=false max-buffers=2",
             n_frames, COLOR_SIDE, COLOR_SIDE);
    pipeline = gst_parse_launch(text, NULL);
    if (!pipeline)
        return NULL;
    *ret_sink = gst_bin_get_by_name(GST_BIN(pipeline), "sink");
    pad = gst_element_get_static_pad(*ret_sink, "sink");
    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM, offer, allocator, NULL);
    gst_object_unref(pad);
    return pipeline;
}

/* Each frame in turn. Returns: how many were looked at. */
static int look(ANeuralNetworksCompilation *compilation, GstElement *sink)
{
    GstSample *sample;
    int n = 0;

    while ((sample = gst_app_sink_pull_sample(GST_APP_SINK(sink))) != NULL) {
        GstMemory *frame = gst_buffer_peek_memory(gst_sample_get_buffer(sample), 0);
        const ANeuralNetworksMemory *memory = gst_mini_object_get_qdata(GST_MINI_OBJECT(frame),
                                                                        memory_quark());
        uint8_t color[3];

        if (memory && color_of(compilation, memory, COLOR_BYTES, color))
            printf("frame %d: %3u %3u %3u\n", n++, color[0], color[1], color[2]);
        gst_sample_unref(sample);
    }
    return n;
}

static int run(int n_frames)
{
    GstAllocator *allocator = g_object_new(frame_allocator_get_type(), NULL);
    ANeuralNetworksCompilation *compilation = color_compile();
    GstElement *sink = NULL, *pipeline = make_pipeline(n_frames, allocator, &sink);
    int n = 0;

    if (compilation && pipeline) {
        gst_element_set_state(pipeline, GST_STATE_PLAYING);
        n = look(compilation, sink);
        gst_element_set_state(pipeline, GST_STATE_NULL);
        printf("%d frames of %d bytes; copied: %llu bytes, the colors\n", n, COLOR_BYTES,
               (unsigned long long)nnhal_get_copied_bytes());
        gst_object_unref(sink);
        gst_object_unref(pipeline);
    }
    gst_object_unref(allocator);
    ANeuralNetworksCompilation_free(compilation);
    return n == n_frames ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    GstElementFactory *source;

    gst_init(&argc, &argv);
    source = gst_element_factory_find("videotestsrc");
    if (!source) {
        fprintf(stderr, "videotestsrc is missing: install gstreamer1.0-plugins-base\n");
        return SKIPPED;
    }
    gst_object_unref(source);
    return run(argc > 1 ? atoi(argv[1]) : 20);
}
