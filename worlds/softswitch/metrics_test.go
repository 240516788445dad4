package softswitch

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"reflect"
	"regexp"
	"testing"

	"weir/core/dataplane"
)

// number gives every number in v another value, in the order of the fields; of arrays only
// the first places, which are what a switch of two ports has.
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

// Every counter is under the name, port and reason that is meant.
func TestMetricsPage(t *testing.T) {
	c := decode(t, wire2)
	var n Counters
	next := uint64(100)
	number(reflect.ValueOf(&n).Elem(), &next)
	for why := range n.Drops { // of all frames: of both ports, and of those that had none
		n.Drops[why] = n.Ports[0].Drops[why] + n.Ports[1].Drops[why]
	}
	n.Drops[dataplane.NoRoute] += 7
	n.ABC, n.Actives, n.Late = 1, 3, 1000
	n.Active = [mostActive]Activity{
		{Address: netip.MustParseAddr("192.0.2.1").As16(), Bits: 32, Four: 1, Rate: 1e6, Activity: 6.5},
		{Address: netip.MustParseAddr("2001:db8::").As16(), Bits: 56, Rate: 2e6, Activity: 5},
		{Others: 1, Rate: 3e6, Activity: -2},
	}
	alive := true
	h, err := (&collector{version: "v1", config: func() *Config { return c }, read: func() (Counters, bool) {
		return n, alive
	}, refused: func() uint64 { return 3 }}).handler()
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
	golden(t, "metrics.golden", get())
	alive = false
	golden(t, "metrics-dead.golden", get())
}
