package softswitch_test

import (
	"fmt"
	"strings"

	"weir/core/dataplane"
	"weir/core/dataplane/balance/ecmp"
	"weir/core/dataplane/forward"
	"weir/core/dataplane/tm"
	softswitch "weir/worlds/switch"
)

// ExampleDecode refuses a program that needs a network, with the reason.
func ExampleDecode() {
	known := softswitch.Schemes{Programs: []dataplane.Scheme{forward.Scheme(), ecmp.Scheme()}, Schedulers: tm.Schemes()}
	c, err := softswitch.Decode(known, "switch.yaml", []byte(`
ports: {left: {interface: eth1}, right: {interface: eth2, rate: 50Mbps}}
switch: [forward]
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range c.Ports {
		fmt.Println(p.Name, p.Interface, p.Buffer)
	}
	_, err = softswitch.Decode(known, "switch.yaml", []byte(`
ports: {left: {interface: eth1}, right: {interface: eth2}}
switch: [forward, ecmp]
`))
	text, _, _ := strings.Cut(err.Error(), "; allowed")
	fmt.Println(text)
	// Output:
	// left eth1 100 packets
	// right eth2 100 packets
	// switch.yaml:3:19: ecmp is not available in a standalone switch: it chooses among paths, but a bridge has one path
}
