/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Internal to loader/link.c: our program as a component of libxdp's dispatcher on an interface. */
#pragma once

#include "link.h"

/* Whether this kernel and this process can use it. Found out once, by a probe that touches no interface. */
bool dispatcher_works(void);

/* Whether another instance has a component on the interface; *owner: its name. */
bool dispatcher_owner(const struct instance *instance, int ifindex, char owner[static 64]);

/* Whether the XDP program on an interface is a dispatcher; tells the mode it runs in. */
bool dispatcher_found(int ifindex, enum xfib_mode *mode);

/* As link_attach() and so on, without words. */
int dispatcher_attach(struct link *link, struct bpf_object *obj);
int dispatcher_replace(const struct instance *instance, struct link *link, struct bpf_object *obj);
bool dispatcher_alive(const struct instance *instance, struct link *link);
int dispatcher_detach(const struct instance *instance, int ifindex);
