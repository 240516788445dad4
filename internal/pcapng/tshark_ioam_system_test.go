//go:build system

package pcapng_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"weir/core/packet"
	"weir/core/telemetry"
	"weir/core/unit"
)

var traceFields = []string{"ipv6.opt.type", "ipv6.opt.ioam.opt_type", "ipv6.opt.ioam.trace.ns",
	"ipv6.opt.ioam.trace.nodelen", "ipv6.opt.ioam.trace.flag.o", "ipv6.opt.ioam.trace.remlen",
	"ipv6.opt.ioam.trace.type", "ipv6.opt.ioam.trace.node.hlim", "ipv6.opt.ioam.trace.node.id",
	"ipv6.opt.ioam.trace.node.eif", "ipv6.opt.ioam.trace.node.tss", "ipv6.opt.ioam.trace.node.tsf",
	"ipv6.opt.ioam.trace.node.trdelay", "ipv6.opt.ioam.trace.node.qdepth", "ipv6.opt.ioam.trace.node.nsdata_wide",
	"ipv6.opt.ioam.trace.node.undefined", "ipv6.opt.ioam.trace.invalid_nodelen", "ipv6.opt.ioam.trace.invalid_remlen",
	"ipv6.opt.ioam.trace.invalid_type"}

// TestTsharkIOAM checks that tshark dissects IOAM in the hop-by-hop options of a traced run, and shows each field
// as switches wrote it, without malformed packets. draft-gafni's bits are undefined for tshark, in their place.
func TestTsharkIOAM(t *testing.T) {
	needTshark(t)
	for _, format := range []string{"ioam", "ioam, sojourn: on", "ioam-gafni"} {
		t.Run(format, func(t *testing.T) {
			f, x := traceOf(t, format, "rdma", "6")
			want, deepest := f.transmitted(), 0
			_, got := dissections(t, faultless(t, f), traceFields, len(want))
			for i := range want {
				deepest = max(deepest, checkTrace(t, x, parsed(t, &want[i]), got[i]))
			}
			if deepest != 3 {
				t.Errorf("at most %d hops", deepest)
			}
		})
	}
}

// checkTrace compares tshark's fields of a packet with its records, and returns the number of records.
func checkTrace(t *testing.T, x *telemetry.Format, p *packet.Packet, got map[string]string) int {
	t.Helper()
	var r telemetry.Records
	if what, _ := x.ReadRequest(p, &r); !p.HasHotExtension(telemetry.Stacked) {
		if what, _ := x.ReadAnswer(p, &r); what != telemetry.Recorded || !strings.Contains(got["ipv6.opt.type"], "0x11") {
			t.Fatalf("an answer: %d, option %s", what, got["ipv6.opt.type"])
		}
		return 0 // of which tshark 4.0 shows the bytes only
	} else if what != telemetry.Recorded {
		t.Fatalf("no records: %v", got)
	}
	words, bits, lists := 7, "0xf22000", map[string][]string{}
	switch {
	case x.Sojourn:
		words, bits = 8, "0xfa2000"
	case x.Profile.Name == "ioam-gafni":
		bits = "0xf20c00"
	}
	for i := r.Len() - 1; i >= 0; i-- { // the newest first
		h := r.At(i)
		add := func(field string, v int64) {
			lists[field] = append(lists[field], strconv.FormatInt(v, 10))
		}
		add("node.id", int64(h.Switch))
		add("node.eif", int64(h.Port))
		add("node.tss", int64(h.Time/unit.Second))
		add("node.tsf", int64(h.Time%unit.Second/unit.Nanosecond))
		add("node.qdepth", int64(h.Queue))
		if x.Sojourn {
			add("node.trdelay", int64(h.Sojourn/unit.Nanosecond))
		}
		if x.Profile.Name == "ioam-gafni" { // 10 Gb/s has code 0
			lists["node.undefined"] = append(lists["node.undefined"], fmt.Sprint(h.TxBytes), "0")
		} else { // 10 Gb/s are 10000 · 10^6
			add("node.nsdata_wide", int64(h.TxBytes<<20|6<<16|10000))
		}
	}
	for field, want := range map[string]string{"ns": "87", "nodelen": fmt.Sprint(words), "flag.o": "0",
		"remlen": fmt.Sprint(words * (5 - r.Len())), "type": bits} {
		if v := number(got["ipv6.opt.ioam.trace."+field]); v != number(want) {
			t.Fatalf("%s is %s, want %s", field, v, want)
		}
	}
	for field, want := range lists {
		shown := strings.Split(got["ipv6.opt.ioam.trace."+field], ",")
		for i := range want {
			if i >= len(shown) || number(shown[i]) != want[i] {
				t.Fatalf("%s is %v, want %v", field, shown, want)
			}
		}
	}
	if !strings.Contains(got["ipv6.opt.type"], "0x31") || got["ipv6.opt.ioam.opt_type"] != "0" {
		t.Fatalf("option %s of type %s, want 0x31", got["ipv6.opt.type"], got["ipv6.opt.ioam.opt_type"])
	}
	for _, bad := range traceFields[len(traceFields)-3:] {
		if got[bad] != "" {
			t.Fatalf("%s: %s", bad, got[bad])
		}
	}
	return r.Len()
}

// number returns a number in decimal, from any of tshark's notations.
func number(s string) string {
	v, err := strconv.ParseUint(s, 0, 64)
	if err != nil {
		return s
	}
	return strconv.FormatUint(v, 10)
}
