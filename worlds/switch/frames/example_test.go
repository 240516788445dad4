package frames_test

import (
	"fmt"

	"weir/core/packet"
	"weir/core/scheme"
	"weir/internal/testkit/frametest"
	"weir/worlds/switch/frames"
)

// ExampleCodec assigns a frame to the user of its source address.
func ExampleCodec() {
	rules := scheme.Defaults[frames.Rules]()
	rules.Ports, rules.Behind, rules.Unnamed, rules.New = []string{"lan", "wan"}, -1, frames.Each, 0
	users := frames.NewUsers(&rules, 1)
	codec := frames.NewCodec(users)
	for _, f := range frametest.AllFrames() {
		if f.Name != "802.1Q with IPv4" && f.Name != "QinQ with IPv6" && f.Name != "LLDP" {
			continue
		}
		p := &packet.Packet{Data: f.Bytes}
		if err := codec.Parse(0, 0, p); err != nil {
			fmt.Println(err)
		}
		prefix, word := users.Book.LabelOf(p.Src)
		fmt.Printf("%s: %d bytes of payload, user %v%s\n", f.Name, p.Payload, prefix, word)
	}
	// Output:
	// LLDP: 0 bytes of payload, user invalid Prefixothers at lan
	// 802.1Q with IPv4: 4 bytes of payload, user 10.9.0.1/32
	// QinQ with IPv6: 4 bytes of payload, user fd09::/64
}
