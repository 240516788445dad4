package frames

import (
	"hash/fnv"
	"net/netip"

	"weir/core/dataplane"
	userset "weir/core/dataplane/users"
	"weir/core/packet"
	"weir/core/unit"
)

// ways is the associativity of a table of addresses: an address has this many possible places, and a new one
// replaces the entry that was idle longest. Look-ups are bounded, and a table is never full.
const ways = 8

const (
	// idleFor is the time for which an unnamed user must be silent before its number is reused: 20 times the memory
	// of an activity meter with its default, after which it is empty.
	idleFor = 60 * unit.Second
	// maxNewcomers is the number of stored addresses that are too new to be users.
	maxNewcomers = 1024
	// maxChecked limits the users that a newcomer without a free number may check for an idle one.
	maxChecked = 16
)

// Users numbers the users of a switch. The first numbers belong to the ports: to everyone at a port without an own
// number. Then follow the named users, which keep their numbers, and unnamed ones. The file limits both together.
// An active user never loses its number to another; a newcomer without a number counts as one of the port's
// others. An address becomes a user only after a time (Rules.New), so that a sender with a new address for every
// frame does not get a new meter each time.
type Users struct {
	Book *packet.Book
	// OnReassign is called when a number is reassigned.
	OnReassign func(packet.Addr)
	// Known counts the users with a number, and Forgotten those that lost theirs.
	Known, Forgotten uint64

	rules       *Rules
	ports       int
	members     []member      // by number
	buckets     []packet.Addr // first number of a chain, by hash
	free        packet.Addr   // first of a chain of free numbers
	nextChecked packet.Addr   // next number to check when a number is needed
	seed        uint64

	named   *dataplane.LPM[packet.Addr] // nil: no prefix is named
	tagged  map[VLANs]packet.Addr       // VLANs of customers; nil: no customer has VLANs
	peers   *dataplane.LPM[packet.Addr] // nil: no program asks for other ends; their numbers are the last
	fresh   []newcomer
	exempts [][ExemptClasses]bucket // by port

}

// userKey identifies a user: an address without its host bits, VLANs, or a named prefix.
type userKey struct {
	hi, lo uint64
	kind   uint8
	bits   uint8
}

// Kinds of keys. The zero key belongs to no user.
const (
	keyIPv4 uint8 = 1 + iota
	keyIPv6
	keyVLAN
	keyPrefix   // found by the table of prefixes
	keyCustomer // hash of a name
)

// member is the state of a number.
type member struct {
	key      userKey
	lastSeen unit.Time
	next     packet.Addr // in the chain; 0: last
	named    bool
}

// newcomer is an address that is not a user yet.
type newcomer struct {
	key         userKey
	first, last unit.Time
}

// Classes of frames that may be exempt.
const (
	classARP = iota
	classDiscovery
	// ExemptClasses counts the classes.
	ExemptClasses
)

// bucket is a token bucket: frames pass up to a rate, and bursts up to the rate times burst.
type bucket struct{ until unit.Time }

const burst = 100 * unit.Millisecond

// allow reports whether bits may pass now at a rate in bit/s, and counts them if so. A burst passes in full as long as
// less than burst has been counted ahead. With rate 0 no frame may pass.
func (b *bucket) allow(now unit.Time, bits int64, rate unit.Rate) bool {
	if rate == 0 || b.until > now+burst {
		return false
	}
	b.until = max(b.until, now) + unit.Time(float64(bits)/float64(rate)*float64(unit.Second))
	return true
}

// NewUsers returns the users of a switch with a new book, after ApplyRules with rules. seed is secret, so that
// attackers cannot choose colliding addresses.
func NewUsers(rules *Rules, seed uint64) *Users {
	n := len(rules.Ports)
	u := &Users{Book: packet.NewBook(), ports: n, members: make([]member, 1+n+rules.MaxUsers), seed: seed,
		fresh: make([]newcomer, maxNewcomers), exempts: make([][ExemptClasses]bucket, n), OnReassign: func(packet.Addr) {}}
	buckets := 1
	for buckets < 2*rules.MaxUsers {
		buckets *= 2
	}
	u.buckets = make([]packet.Addr, buckets)
	for range len(u.members) - 1 + MaxPeers {
		u.Book.Add(netip.Addr{}, netip.Addr{})
	}
	for a := len(u.members) - 1; a > n; a-- {
		u.members[a].next, u.free = u.free, packet.Addr(a)
	}
	u.nextChecked = packet.Addr(n + 1)
	u.ApplyRules(rules)
	return u
}

// ApplyRules applies the rules of another file, which must agree in all that Rules.Fixed describes. Users in both
// keep their numbers. Users that are no longer named lose theirs, and so do all unnamed ones unless each is a user.
// OnReassign is called for each number with another address or customer.
func (u *Users) ApplyRules(rules *Rules) {
	u.rules = rules
	for i, name := range rules.Ports {
		word := "others at " + name
		if i == 0 && rules.Unnamed == OneForAll {
			word = "others"
		}
		u.Book.SetLabel(packet.Addr(i+1), netip.Prefix{}, word)
	}
	u.DeclareCustomers(rules)
	wanted := make([]userKey, 0, rules.NamedCount())
	for _, c := range rules.Customers {
		wanted = append(wanted, nameKey(c.Name))
	}
	for _, p := range rules.Named {
		wanted = append(wanted, prefixKey(p))
	}
	for _, v := range rules.VLANs {
		wanted = append(wanted, vlanKey(v))
	}
	stays := make(map[userKey]bool, len(wanted))
	for _, k := range wanted {
		stays[k] = true
	}
	for a := range u.members {
		if x := &u.members[a]; x.key.kind != 0 && !stays[x.key] && (x.named || rules.Unnamed != Each) {
			u.dropNumber(packet.Addr(a))
		}
	}
	var numbers []packet.Addr
	for _, k := range wanted {
		n := u.findNumber(k)
		if n == 0 {
			if u.free == 0 {
				u.evictOldest()
			}
			n = u.addKey(k)
		}
		u.members[n].named = true
		u.describeNumber(n, k)
		numbers = append(numbers, n)
	}
	u.setNames(rules, numbers)
	u.peers, _ = u.buildTable(rules.Peers, func(i int) packet.Addr { return packet.Addr(len(u.members) + i) })
}

// DeclareCustomers stores the customers of rules in the book, for programs that are built before ApplyRules.
func (u *Users) DeclareCustomers(rules *Rules) {
	if all := rules.declaredUsers(); all != nil || u.Book.Users() != nil {
		u.Book.SetUsers(all)
	}
}

// setNames makes frames find the users that the file names or lists, by tables of prefixes and VLANs, and writes the
// users' names and addresses into the book. numbers holds the customers' numbers, followed by the numbers of listed
// prefixes. It calls OnReassign for numbers with another address or owner.
func (u *Users) setNames(rules *Rules, numbers []packet.Addr) {
	var prefixes []netip.Prefix
	var owners []packet.Addr
	u.tagged = nil
	for i, c := range rules.Customers {
		for _, p := range c.Prefixes {
			prefixes, owners = append(prefixes, p), append(owners, numbers[i])
		}
		for _, v := range c.VLANs {
			if u.tagged == nil {
				u.tagged = map[VLANs]packet.Addr{}
			}
			u.tagged[v] = numbers[i]
		}
	}
	customers := len(prefixes)
	for i, p := range rules.Named {
		prefixes, owners = append(prefixes, p), append(owners, numbers[len(rules.Customers)+i])
	}
	var addresses map[packet.Addr][2]netip.Addr
	u.named, addresses = u.buildTable(prefixes, func(i int) packet.Addr { return owners[i] })
	for i, c := range rules.Customers {
		n := numbers[i]
		u.Book.AssignUser(n, c.Name, allBits)
		if a := addresses[n]; a != [2]netip.Addr{u.Book.V4(n), u.Book.V6(n)} {
			u.OnReassign(n)
			u.Book.SetAddresses(n, a[0], a[1])
		}
		u.Book.SetLabel(n, netip.Prefix{}, c.Name)
	}
	if u.Book.Users() == nil {
		return
	}
	owner := userset.FindOwner(u.Book)
	for i := customers; i < len(prefixes); i++ { // a listed prefix within a customer's
		name, bits := owner(prefixes[i])
		if was, n := u.Book.OwnerOf(owners[i], 4); was != name || n != bits {
			u.Book.AssignUser(owners[i], name, bits)
			u.OnReassign(owners[i])
		}
	}
}

// allBits exceeds the length of any prefix.
const allBits = 129

// buildTable returns a table of the numbers of prefixes, nil without prefixes. The book gets for each number an
// address in its prefix but in no longer one; OnReassign is called if it is another. addresses returns these for
// customers, IPv4 first, which may have several prefixes.
func (u *Users) buildTable(prefixes []netip.Prefix, number func(i int) packet.Addr) (
	table *dataplane.LPM[packet.Addr], addresses map[packet.Addr][2]netip.Addr) {
	addresses = map[packet.Addr][2]netip.Addr{}
	if len(prefixes) == 0 {
		return nil, addresses
	}
	table = dataplane.NewLPM[packet.Addr](len(prefixes))
	places := dataplane.NewLPM[int](len(prefixes))
	for i, p := range prefixes {
		table.Insert(p, number(i)) // the table has space, and all prefixes are valid
		places.Insert(p, i)
	}
	for i, p := range prefixes {
		a, n := ownAddress(p, places, prefixes), number(i)
		if int(n) < len(u.members) && u.members[n].key.kind == keyCustomer {
			x, family := addresses[n], 0
			if p.Addr().Is6() {
				family = 1
			}
			if !x[family].IsValid() {
				x[family] = a
			}
			addresses[n] = x
			continue
		}
		was := u.Book.V4(n)
		if !was.IsValid() {
			was = u.Book.V6(n)
		}
		if was != a {
			u.OnReassign(n) // discard programs' state that depends on the address
			u.renameNumber(n, a, p)
		}
	}
	return table, addresses
}

// ownAddress returns an address of a prefix that is in no longer one, so that a look-up finds the prefix. It
// returns the zero address if longer prefixes cover it; its number is then unused.
func ownAddress(p netip.Prefix, places *dataplane.LPM[int], prefixes []netip.Prefix) netip.Addr {
	a := p.Addr()
	for a.IsValid() && p.Contains(a) {
		i, _ := places.Lookup(a)
		if prefixes[i] == p {
			return a
		}
		a = lastAddress(prefixes[i]).Next()
	}
	return netip.Addr{}
}

// lastAddress returns the last address of a prefix.
func lastAddress(p netip.Prefix) netip.Addr {
	b := p.Addr().AsSlice()
	for i := p.Bits(); i < 8*len(b); i++ {
		b[i/8] |= 0x80 >> (i % 8)
	}
	a, _ := netip.AddrFromSlice(b)
	return a
}

// renameNumber stores address a of prefix p for number n in the book, without an address of the other family. It
// labels the number with p, unless p is a single address.
func (u *Users) renameNumber(n packet.Addr, a netip.Addr, p netip.Prefix) {
	if a.Is4() {
		u.Book.SetAddresses(n, a, netip.Addr{})
	} else {
		u.Book.SetAddresses(n, netip.Addr{}, a)
	}
	if !p.IsSingleIP() {
		u.Book.SetLabel(n, p, "")
	}
}

// othersNumber returns the number for all users at a port that have no number of their own. It is 1 for every port if
// the file makes all of them one user.
func (u *Users) othersNumber(in packet.PortID) packet.Addr {
	if u.rules.Unnamed == OneForAll {
		return 1
	}
	return 1 + packet.Addr(in)
}

// numberOfAddress returns the user of an address seen at port in at now: the listed user with the longest prefix, else
// the unnamed user if each address is one, else the port's others. It records the time, and may give a new user a
// number.
func (u *Users) numberOfAddress(now unit.Time, in packet.PortID, a netip.Addr) packet.Addr {
	if u.named != nil {
		if n, ok := u.named.Lookup(a); ok {
			u.members[n].lastSeen = now
			return n
		}
	}
	if u.rules.Unnamed != Each {
		return u.othersNumber(in)
	}
	return u.numberOfEach(now, in, u.addressKey(a))
}

// peerNumber returns the number of the other end of a user's traffic. It is 0 if no program asks for it, or if no
// prefix contains the address.
func (u *Users) peerNumber(a netip.Addr) packet.Addr {
	if u.peers == nil || !a.IsValid() {
		return 0
	}
	n, _ := u.peers.Lookup(a)
	return n
}

// numberOfVLANs returns the user of frames with these tags: a customer, a listed user, or an unnamed one if each is a
// user. Frames without tags and all others belong to the others of port in. It records the time, and may give a new
// user a number.
func (u *Users) numberOfVLANs(now unit.Time, in packet.PortID, v VLANs) packet.Addr {
	if n := u.tagged[v]; n != 0 {
		u.members[n].lastSeen = now
		return n
	}
	switch {
	case v == 0:
		return u.othersNumber(in)
	case u.rules.Unnamed == Each:
		return u.numberOfEach(now, in, vlanKey(v))
	}
	if n := u.findNumber(vlanKey(v)); n != 0 {
		u.members[n].lastSeen = now
		return n
	}
	return u.othersNumber(in)
}

// numberOfCustomer returns the customer of frames with two tags, by both tags or by the outer one; 0 if there is no
// such customer. It records the time.
func (u *Users) numberOfCustomer(now unit.Time, outer, inner uint16) packet.Addr {
	if u.tagged == nil || outer == 0 {
		return 0
	}
	n := u.tagged[VLANs(outer)<<12|VLANs(inner)]
	if n == 0 {
		n = u.tagged[VLANs(outer)<<12]
	}
	if n != 0 {
		u.members[n].lastSeen = now
	}
	return n
}

// numberOfEach returns the number of a known key, or a new one if the key has been present long enough; else the number
// of the others at port in. It records the time. For a new number it may free an idle user's.
func (u *Users) numberOfEach(now unit.Time, in packet.PortID, k userKey) packet.Addr {
	if n := u.findNumber(k); n != 0 {
		u.members[n].lastSeen = now
		return n
	}
	if !u.isSettled(now, k) {
		return u.othersNumber(in)
	}
	if u.free == 0 {
		u.evictIdle(now)
	}
	if u.free == 0 {
		return u.othersNumber(in)
	}
	n := u.addKey(k)
	u.members[n].lastSeen = now
	u.describeNumber(n, k)
	return n
}

// isSettled records that a key was seen, and reports whether it has been present for Rules.New. A key that was silent
// for idleFor starts from the beginning. If its places are taken, it replaces the key that was silent longest.
func (u *Users) isSettled(now unit.Time, k userKey) bool {
	first := u.hashKey(k) % (maxNewcomers / ways) * ways
	set := u.fresh[first : first+ways]
	x := &set[0]
	for i := range set {
		if set[i].key == k {
			x = &set[i]
			break
		}
		if set[i].last < x.last || set[i].key.kind == 0 && x.key.kind != 0 {
			x = &set[i]
		}
	}
	if x.key != k || now-x.last >= idleFor {
		*x = newcomer{k, now, now}
	}
	x.last = now
	return now-x.first >= u.rules.New
}

// findNumber returns the number of a key, 0 without one.
func (u *Users) findNumber(k userKey) packet.Addr {
	n := u.buckets[u.hashKey(k)&uint64(len(u.buckets)-1)]
	for n != 0 && u.members[n].key != k {
		n = u.members[n].next
	}
	return n
}

// addKey assigns a free number, which must exist, to a key as an unnamed user, and returns it. The book has no address
// for it yet (describeNumber).
func (u *Users) addKey(k userKey) packet.Addr {
	n := u.free
	u.free = u.members[n].next
	head := &u.buckets[u.hashKey(k)&uint64(len(u.buckets)-1)]
	u.members[n] = member{key: k, next: *head}
	*head = n
	u.Known++
	return n
}

// dropNumber frees a number that a user has: it clears its entry in the book and calls OnReassign.
func (u *Users) dropNumber(n packet.Addr) {
	at := &u.buckets[u.hashKey(u.members[n].key)&uint64(len(u.buckets)-1)]
	for *at != n {
		at = &u.members[*at].next
	}
	*at = u.members[n].next
	u.members[n], u.free = member{next: u.free}, n
	u.Book.SetAddresses(n, netip.Addr{}, netip.Addr{})
	u.Book.AssignUser(n, "", 0)
	u.Known--
	u.OnReassign(n)
}

// evictIdle frees the number of an unnamed user that was silent for idleFor, if it finds one among maxChecked
// numbers. It continues where it stopped, so that a newcomer costs bounded time for any number of users.
func (u *Users) evictIdle(now unit.Time) {
	for range min(maxChecked, u.rules.MaxUsers) {
		n := u.nextChecked
		if u.nextChecked++; int(u.nextChecked) == len(u.members) {
			u.nextChecked = packet.Addr(u.ports + 1)
		}
		if x := &u.members[n]; !x.named && now-x.lastSeen >= idleFor {
			u.dropNumber(n)
			u.Forgotten++
			return
		}
	}
}

// evictOldest frees the number of the unnamed user that was silent longest. There must be an unnamed user.
func (u *Users) evictOldest() {
	oldest := packet.Addr(0)
	for a := u.ports + 1; a < len(u.members); a++ {
		if x := &u.members[a]; !x.named && (oldest == 0 || x.lastSeen < u.members[oldest].lastSeen) {
			oldest = packet.Addr(a)
		}
	}
	u.dropNumber(oldest)
	u.Forgotten++
}

// describeNumber stores the VLANs or the address of an unnamed user in the book. It has no effect for other keys.
func (u *Users) describeNumber(n packet.Addr, k userKey) {
	switch k.kind {
	case keyVLAN:
		u.Book.SetLabel(n, netip.Prefix{}, "vlan "+VLANs(k.lo).String())
	case keyIPv4:
		var b [4]byte
		be.PutUint32(b[:], uint32(k.lo))
		a := netip.AddrFrom4(b)
		u.renameNumber(n, a, netip.PrefixFrom(a, u.rules.IPv4Bits))
	case keyIPv6:
		var b [16]byte
		be.PutUint64(b[:], k.hi)
		be.PutUint64(b[8:], k.lo)
		a := netip.AddrFrom16(b)
		u.renameNumber(n, a, netip.PrefixFrom(a, u.rules.IPv6Bits))
	}
}

// addressKey returns the key of an address: its prefix that identifies a user, of the rules' length for its version.
func (u *Users) addressKey(a netip.Addr) userKey {
	if a.Is4() {
		b := a.As4()
		return userKey{lo: uint64(be.Uint32(b[:]) &^ (1<<(32-u.rules.IPv4Bits) - 1)), kind: keyIPv4}
	}
	b := a.As16()
	k := userKey{hi: be.Uint64(b[:8]), lo: be.Uint64(b[8:]), kind: keyIPv6}
	if n := u.rules.IPv6Bits; n > 64 {
		k.lo &^= 1<<(128-n) - 1
	} else {
		k.lo = 0
		k.hi &^= 1<<(64-n) - 1
	}
	return k
}

// prefixKey returns the key of a named prefix.
func prefixKey(p netip.Prefix) userKey {
	b := p.Addr().As16()
	return userKey{be.Uint64(b[:8]), be.Uint64(b[8:]), keyPrefix, uint8(p.Bits())}
}

// nameKey returns the key of a customer's name.
func nameKey(name string) userKey {
	h := fnv.New128a()
	h.Write([]byte(name))
	sum := h.Sum(nil)
	return userKey{be.Uint64(sum[:8]), be.Uint64(sum[8:]), keyCustomer, 0}
}

// vlanKey returns the key of VLANs.
func vlanKey(v VLANs) userKey { return userKey{lo: uint64(v), kind: keyVLAN} }

// hashKey hashes a key with the seed.
func (u *Users) hashKey(k userKey) uint64 {
	return Hash(k.hi^u.seed^uint64(k.kind)<<56^uint64(k.bits)<<48, k.lo)
}

// Hash hashes a and b: every bit of the result depends on every bit of them. It is not cryptographic.
func Hash(a, b uint64) uint64 {
	h := (a ^ a>>32) * 0x9e3779b97f4a7c15
	h ^= b
	h = (h ^ h>>29) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>32) * 0x94d049bb133111eb
	return h ^ h>>31
}
