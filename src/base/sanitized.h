/* SPDX-License-Identifier: Apache-2.0 */
/* sanitized.h - whether this is a build of AddressSanitizer or ThreadSanitizer
 *
 * They have an allocator, threads and files of their own, which some measures
 * would take from them. */
#ifndef NN_BASE_SANITIZED_H
#define NN_BASE_SANITIZED_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define NN_IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define NN_IS_SANITIZED 1
#endif
#endif
#ifndef NN_IS_SANITIZED
#define NN_IS_SANITIZED 0
#endif

#endif
