/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/codec.h"
#include "hal/print.h"

#include "base/log.h"
#include "codec/printer.h"
#include "hal/messages.h"

#include <inttypes.h>
#include <string.h>

enum { MAX_TRACE_BYTES = 2048 };

/* "prepared_model#12": the object is named by the id that args begin with; the
 * device has none and is number 1. Returns how many fields that used up. */
static size_t print_object(struct nn_printer *printer, const char *object,
                           const struct nn_codec_type *type, const void *value)
{
    const struct nn_codec_field *field = &type->fields[0];
    bool is_object = field->kind == NN_CODEC_ID && field->form == NN_CODEC_ONE &&
                     strcmp(field->name, object) == 0;
    uint64_t id = 1;

    if (is_object)
        memcpy(&id, (const char *)value + field->offset, sizeof(id));
    nn_printer_add(printer, "%s#%" PRIu64 ".", object, id);
    return is_object ? 1 : 0;
}

static void print_fds(struct nn_printer *printer, const struct nn_codec_message *message)
{
    if (!message->n_fds)
        return;
    nn_printer_add_name(printer, "fds");
    for (size_t i = 0; i < message->n_fds; i++)
        nn_printer_add(printer, "%s%d", i ? "," : "[", message->fds[i]);
    nn_printer_add(printer, "]");
}

static void print_call(struct nn_printer *printer, const struct nn_codec_message *message,
                       const void *value)
{
    const struct nn_hal_method_type *method = &nn_hal_methods[message->number];
    size_t first = print_object(printer, method->object, method->args, value);

    nn_printer_add(printer, "%s(serial=%" PRIu64, method->name, message->serial);
    printer->separator = ", ";
    nn_printer_add_fields(printer, method->args, value, first);
}

static void print_reply(struct nn_printer *printer, const struct nn_codec_message *message,
                        const void *value)
{
    const struct nn_hal_method_type *method = &nn_hal_methods[message->number];
    bool has_reply = message->status == NNHAL_NONE ||
                     (method->also && message->status == method->also);

    nn_printer_add(printer, "%s.reply(serial=%" PRIu64 ", status=", method->name, message->serial);
    nn_printer_add_enum(printer, nn_codec_statuses, message->status);
    printer->separator = ", ";
    if (has_reply)
        nn_printer_add_fields(printer, method->reply, value, 0);
    else
        nn_printer_add_field(printer, &method->reply->fields[0], value);
}

static void print_event(struct nn_printer *printer, const struct nn_codec_message *message,
                        const void *value)
{
    const struct nn_hal_event_type *event = &nn_hal_events[message->number];
    size_t first = print_object(printer, event->object, event->value, value);

    nn_printer_add(printer, "%s(", event->name);
    printer->separator = "";
    nn_printer_add_fields(printer, event->value, value, first);
}

void nn_hal_print_packet(enum nn_hal_packet_kind packet, const struct nn_codec_message *message,
                         const void *value, char *ret_text, size_t n_text)
{
    struct nn_printer printer = {.text = ret_text, .size = n_text, .separator = ""};

    ret_text[0] = '\0';
    if (packet == NN_HAL_PACKET_CALL)
        print_call(&printer, message, value);
    else if (packet == NN_HAL_PACKET_REPLY)
        print_reply(&printer, message, value);
    else
        print_event(&printer, message, value);
    print_fds(&printer, message);
    nn_printer_add(&printer, ")");
}

void nn_hal_trace(const char *sign, enum nn_hal_packet_kind packet,
                  const struct nn_codec_message *message, const void *value)
{
    char text[MAX_TRACE_BYTES];

    if (!nn_trace_enabled("wire"))
        return;
    nn_hal_print_packet(packet, message, value, text, sizeof(text));
    nn_trace("%s %s", sign, text);
}
