// The only include of libpq-fe.h in the package. The field codes of an error are character constants in C; here they
// have the type that PQresultErrorField takes.

#ifndef PAGECACHE_CPOSTGRES_SHIM_H
#define PAGECACHE_CPOSTGRES_SHIM_H

#include <libpq-fe.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sys/socket.h>

#if defined(__linux__)
// <pthread.h> declares it only with _GNU_SOURCE, which Swift does not define for modules.
extern int pthread_setname_np(pthread_t thread, const char *name);
#endif

/// Names the calling thread, for `ps -L` and debuggers.
static inline void pagecache_name_thread(const char *name) {
#if defined(__linux__)
    pthread_setname_np(pthread_self(), name);
#elif defined(__APPLE__)
    pthread_setname_np(name);
#endif
}

/// Limits how long the peer of a TCP socket may acknowledge no sent bytes, or accept no further bytes. Has no effect on a
/// Unix socket, and on systems without that limit.
static inline void pagecache_limit_unsent(int descriptor, unsigned int milliseconds) {
#if defined(TCP_USER_TIMEOUT)
    setsockopt(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds, sizeof milliseconds);
#else
    (void)descriptor;
    (void)milliseconds;
#endif
}

/// The five characters of SQLSTATE.
static inline const char *pagecache_sqlstate(const PGresult *result) {
    return PQresultErrorField(result, PG_DIAG_SQLSTATE);
}

/// The severity, never translated: ERROR, FATAL, PANIC, WARNING, NOTICE, …
static inline const char *pagecache_severity(const PGresult *result) {
    return PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);
}

/// The function of the server that reported the error or the notice.
static inline const char *pagecache_function(const PGresult *result) {
    return PQresultErrorField(result, PG_DIAG_SOURCE_FUNCTION);
}

/// The first line of the message. Detail and hint may hold values of rows, so they are not read.
static inline const char *pagecache_message(const PGresult *result) {
    return PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
}

#endif
