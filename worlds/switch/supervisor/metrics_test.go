package supervisor

import (
	"net/http"
	"net/http/httptest"
	"reflect"
	"regexp"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/forward"
	"weir/core/dataplane/tm"
	"weir/internal/testkit"
	"weir/papers/p4abc"
	softswitch "weir/worlds/switch"
	"weir/worlds/switch/control"
)

// number gives every number in v another value, in the order of the fields. Of arrays it sets only the first
// places, which a switch with two ports uses.
func number(v reflect.Value, next *uint64) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				number(v.Field(i), next)
			}
		}
	case reflect.Array:
		for i := range v.Len() {
			if v.Type().Elem().Kind() != reflect.Struct || i < 2 {
				number(v.Index(i), next)
			}
		}
	case reflect.Uint64:
		*next++
		v.SetUint(*next)
	case reflect.Int64: // times
		*next++
		v.SetInt(int64(*next) * 1e12)
	case reflect.Float64:
		*next++
		v.SetFloat(float64(*next))
	}
}

// twoPorts is a switch's file with ABC.
const twoPorts = `
ports: {users: {interface: a}, uplink: {interface: b, rate: 10Mbps, buffer: 50 packets}}
switch: [forward, {abc: {q_min: 2 packets, q_base: 4 packets, gamma: 4 packets}}]
users: {new: 0s}
metrics: none
`

// TestMetricsPage checks that every counter is under its name, port and reason.
func TestMetricsPage(t *testing.T) {
	c, err := softswitch.Decode(softswitch.Schemes{Programs: []dataplane.Scheme{forward.Scheme(), p4abc.Scheme()},
		Schedulers: tm.Schemes()}, "switch.yaml", []byte(twoPorts))
	if err != nil {
		t.Fatal(err)
	}
	var n control.Counters
	next := uint64(100)
	number(reflect.ValueOf(&n).Elem(), &next)
	for why := range n.Drops { // of all frames: of both ports, and of those that had none
		n.Drops[why] = n.Ports[0].Drops[why] + n.Ports[1].Drops[why]
	}
	n.Drops[dataplane.NoRoute] += 7
	n.Late, n.Samples = 1000, 0
	show := func(name, label string, port int, value float64) {
		s := control.Sample{Port: uint8(port), Value: value}
		s.Name.Set([]byte(name))
		s.Label.Set([]byte(label))
		n.Sample[n.Samples] = s
		n.Samples++
	}
	for port, average := range []float64{5.25, 4.5} {
		show("weir_abc_average_activity", "", port, average)
	}
	for _, u := range []struct {
		name           string
		activity, rate float64
	}{{"192.0.2.1", 6.5, 1e6}, {"2001:db8::/56", 5, 2e6}, {"others", -2, 3e6}, {"others", 1, 1}} { // the last is double
		show("weir_abc_user_activity", u.name, 0, u.activity)
		show("weir_abc_user_rate_bits_per_second", u.name, 0, u.rate)
	}
	show("weir_gone", "", 0, 1) // of a program that the file names no longer
	show("weir_abc_average_activity", "", control.MaxPorts, 1)
	alive := true
	h, err := (&collector{version: "v1", config: func() *softswitch.Config { return c },
		read:    func() (control.Counters, bool) { return n, alive },
		refused: func() uint64 { return 3 }}).newHandler()
	if err != nil {
		t.Fatal(err)
	}
	get := func() string {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		if w.Code != http.StatusOK {
			t.Fatalf("%d: %s", w.Code, w.Body)
		}
		return regexp.MustCompile(`goversion="[^"]*"`).ReplaceAllString(w.Body.String(), `goversion="…"`)
	}
	testkit.Golden(t, "metrics.golden", get())
	alive = false
	testkit.Golden(t, "metrics-dead.golden", get())
}
