package agent

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"weir/core/packet"
	"weir/core/unit"
)

// several returns connections of each kind: receiver, sender, silent, NACKed, and NACKed without HPCC++.
func several() []Connection {
	at := func(port uint16) netip.AddrPort { return netip.AddrPortFrom(netip.MustParseAddr("fd09::1"), port) }
	return []Connection{
		{Local: at(1), Remote: at(101), Controller: "cubic", RTT: 2 * unit.Second, Traces: true},
		{Local: at(2), Remote: at(102), Controller: "weir_hpcc", RTT: 10 * unit.Millisecond, Traces: true, Following: true,
			Pacing: 20 * unit.Mbps, Traced: 50, SenderFeedback: Feedback{Window: 12345, Load: 0.951, Bottleneck: 2, Hops: 3,
				Age: 150 * unit.Microsecond, T: 12_288 * unit.Microsecond}},
		{Local: at(3), Remote: at(103), Controller: "cubic", RTT: 10 * unit.Millisecond, Traces: true, Measured: 99,
			Missed: true, ReceiverFeedback: Feedback{Window: 500, Load: 1.25, Bottleneck: 1, Hops: 5, Node: 7,
				Age: unit.Millisecond,
				T:   20_480 * unit.Microsecond}},
		{Local: at(4), Remote: at(104), Controller: "reno", RTT: 30 * unit.Microsecond, Nacks: &Nacks{Taken: 3, Repeated: 1,
			Refused: 2, Reductions: 1, Expired: 1, Lowered: 9, Cause: packet.CauseTrimmed, Age: unit.Millisecond, Switch: 5,
			Supply: 8 * unit.Mbps, Bound: 2856}},
		{Local: at(5), Remote: at(105), Controller: "bbr", RTT: unit.Millisecond, Nacks: &Nacks{Refused: 1}},
	}
}

// TestWriteTable_SortsConnections checks that connections with HPCC++ are in one table, the busiest first, with a line
// for each direction with values. NACKed connections are in another.
func TestWriteTable_SortsConnections(t *testing.T) {
	var b strings.Builder
	if err := WriteTable(&b, several()); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, line := range strings.Split(strings.TrimSpace(b.String()), "\n") {
		got = append(got, strings.Join(strings.Fields(line), " "))
	}
	want := []string{
		"local remote control as window T U bottleneck age RTT pacing",
		"[fd09::1]:3 [fd09::1]:103 cubic receiver 500B 20.48ms 1.250 1 of 5, node 7, more hops than fit 1ms 10ms -",
		"[fd09::1]:2 [fd09::1]:102 weir_hpcc sender 12.345kB 12.29ms 0.951 2 of 3 150us 10ms 20Mbps",
		"[fd09::1]:1 [fd09::1]:101 cubic sender - - - - - 2s -",
		"local remote control NACKs repeated refused reductions expired last age supply bound RTT",
		"[fd09::1]:4 [fd09::1]:104 reno 3 1 2 1 1 trimmed, switch 5 1ms 8Mbps 2.856kB 30us",
		"[fd09::1]:5 [fd09::1]:105 bbr 0 0 1 0 0 - - - - 1ms",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	b.Reset()
	many := make([]Connection, maxShown+3)
	for i := range many {
		many[i].Traces, many[i].Nacks = true, &Nacks{}
	}
	if err := WriteTable(&b, many); err != nil || strings.Count(b.String(), "and 3 more") != 2 {
		t.Errorf("%v: of %d connections it leaves out no 3", err, len(many))
	}
	b.Reset()
	if err := WriteTable(&b, nil); err != nil || b.Len() > 0 {
		t.Errorf("without connections: %q, %v", b.String(), err)
	}
}

// TestFormatBrief_KeepsFourDigits checks that times and rates have four digits and the largest unit that leaves
// three decimals, below 0 too.
func TestFormatBrief_KeepsFourDigits(t *testing.T) {
	for want, v := range map[string]unit.Time{"0s": 0, "1ps": 1, "9.999ns": 9999, "100ns": 99_996, "436us": 436_000_000,
		"1.23ms": 1_230_000_000, "789.3us": 789_312_345, "999.9us": 999_949_999, "1ms": 999_960_000,
		"10.45ms": 10_448_000_000,
		"9.999s":  9_999_400_000_000, "10s": 9_999_600_000_000, "1234s": 1234 * unit.Second, "12350s": 12_346 * unit.Second,
		"-436us": -436_000_000, "-1.23ms": -1_230_000_000, "-1ms": -999_960_000} {
		if got := formatBrief(v); got != want {
			t.Errorf("%d ps are %s, want %s", int64(v), got, want)
		}
	}
	for want, v := range map[string]unit.Rate{"0bps": 0, "1bps": 1, "122.5Mbps": 122_536_584, "197Mbps": 197_019_600,
		"92.45Mbps": 92_450_000, "999.9kbps": 999_949, "1Mbps": 999_950, "1.2Tbps": 1_200_000_000_001,
		"10Gbps":     9_999_999_999,
		"-5.001Mbps": -5_000_999} {
		if got := formatBrief(v); got != want {
			t.Errorf("%d bit/s are %s, want %s", int64(v), got, want)
		}
	}
}

// TestHandler_ReportsConnectionsAndErrors checks that metrics have each connection with its values, and the error of a
// failed read.
func TestHandler_ReportsConnectionsAndErrors(t *testing.T) {
	page := func(read func() ([]Connection, error), strays func() (uint64, error)) (int, string) {
		h, err := NewHandler("v1", read, strays)
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest("GET", "/metrics", nil)
		r.Header.Set("Accept", "application/openmetrics-text")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	code, text := page(func() ([]Connection, error) { return several(), nil }, func() (uint64, error) { return 7, nil })
	if code != 200 {
		t.Fatalf("%d: %s", code, text)
	}
	of := func(n int) string { return fmt.Sprintf(`local="[fd09::1]:%d",remote="[fd09::1]:%d"`, n, 100+n) }
	for _, want := range []string{
		`weir_agent_connections 5`, `weir_agent_stray_nacks_total 7`,
		`weir_agent_following{` + of(2) + `} 1`, `weir_agent_following{` + of(1) + `} 0`,
		`weir_agent_window_bytes{` + of(2) + `,side="sender"} 12345`,
		`weir_agent_load_ratio{` + of(3) + `,side="receiver"} 1.25`,
		`weir_agent_bottleneck_hop{` + of(2) + `,side="sender"} 2`, `weir_agent_hops{` + of(3) + `,side="receiver"} 5`,
		`weir_agent_telemetry_age_seconds{` + of(3) + `,side="receiver"} 0.001`,
		`weir_agent_t_seconds{` + of(2) + `,side="sender"} 0.012288`,
		`weir_agent_t_seconds{` + of(3) + `,side="receiver"} 0.02048`,
		`weir_agent_traced_total{` + of(2) + `} 50`, `weir_agent_measured_total{` + of(3) + `} 99`,
		`weir_agent_nacks_taken_total{` + of(4) + `} 3`, `weir_agent_nacks_repeated_total{` + of(4) + `} 1`,
		`weir_agent_nacks_refused_total{` + of(5) + `} 1`, `weir_agent_windows_lowered_total{` + of(4) + `} 9`,
		`weir_agent_supply_bits_per_second{` + of(4) + `} 8e+06`, `weir_agent_bound_bytes{` + of(4) + `} 2856`,
		`weir_agent_rtt_seconds{` + of(4) + `} 3e-05`, `version="v1"`, "# EOF",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("it lacks %s", want)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
	broken := errors.New("no maps")
	for name, x := range map[string]struct {
		read   func() ([]Connection, error)
		strays func() (uint64, error)
	}{
		"connections": {func() ([]Connection, error) { return nil, broken }, nil},
		"strays":      {func() ([]Connection, error) { return nil, nil }, func() (uint64, error) { return 0, broken }},
	} {
		if code, text := page(x.read, x.strays); code != 500 || !strings.Contains(text, "no maps") {
			t.Errorf("%s cannot be read: %d: %s", name, code, text)
		}
	}
}
