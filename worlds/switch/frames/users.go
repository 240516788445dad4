package frames

import (
	"hash/fnv"
	"net/netip"

	"weir/core/dataplane"
	userset "weir/core/dataplane/users"
	"weir/core/packet"
	"weir/core/unit"
)

// ways is the associativity of a table of addresses: an address has this many possible places, and a new
// one takes the place that has been idle longest. Look-ups are bounded, and a table is never full.
const ways = 8

const (
	// idleFor is how long a user whom no file names must be silent before somebody else may get the number:
	// 20 times the memory of an activity meter with its default, after which it is empty.
	idleFor = 60 * unit.Second
	// newcomers is for how many addresses there is room that are too new to be users.
	newcomers = 1024
	// looked is how many users a newcomer who finds no room may have looked at, to find one who is idle.
	looked = 16
)

// Users numbers the users of a switch. The first numbers are the ports': of all at a port without a number of
// their own. Then come the users that the file names, who keep their numbers, and those who just appear. The file
// limits both together. An active user never makes room for another: a newcomer without room is one of the
// port's. An address becomes a user only after a time (Rules.New), so that a sender with a new address for every
// frame does not get a new meter with each.
type Users struct {
	Book *packet.Book
	// Forget is called when a number goes to another user.
	Forget func(packet.Addr)
	// Known counts the users that have a number, and Forgotten those that had to give theirs up.
	Known, Forgotten uint64

	rules   *Rules
	ports   int
	all     []member      // by number
	buckets []packet.Addr // first of a chain of numbers, by hash
	free    packet.Addr   // first of a chain of those that nobody has
	hand    packet.Addr   // who is looked at next when room is wanted
	seed    uint64

	named   *dataplane.LPM[packet.Addr] // nil: no prefix is named
	tagged  map[VLANs]packet.Addr       // VLANs of customers; nil: no customer has one
	peers   *dataplane.LPM[packet.Addr] // nil: no program asks for other ends; their numbers are the last
	fresh   []newcomer
	exempts [][ExemptClasses]bucket // by port

}

// key identifies a user: an address without its host bits, VLANs, or a prefix that is named.
type key struct {
	hi, lo uint64
	kind   uint8
	bits   uint8
}

// Kinds of keys; the zero key is no user's.
const (
	ofIPv4 uint8 = 1 + iota
	ofIPv6
	ofVLAN
	ofPrefix   // such keys are found by the table of prefixes
	ofCustomer // of a name
)

type member struct {
	key      key
	lastSeen unit.Time
	next     packet.Addr // in the chain; 0: the last one
	named    bool
}

// newcomer is an address that is no user yet.
type newcomer struct {
	key         key
	first, last unit.Time
}

// Classes of frames that may be exempt.
const (
	ofARP = iota
	ofDiscovery
	// ExemptClasses counts the classes.
	ExemptClasses
)

// bucket lets frames pass up to a rate, and at once what the rate allows in the time burst.
type bucket struct{ until unit.Time }

const burst = 100 * unit.Millisecond

// take reports whether so many bits pass now.
func (b *bucket) take(now unit.Time, bits int64, rate unit.Rate) bool {
	if rate == 0 || b.until > now+burst {
		return false
	}
	b.until = max(b.until, now) + unit.Time(float64(bits)/float64(rate)*float64(unit.Second))
	return true
}

// NewUsers returns the users of a switch, and their book. The seed keeps attackers from choosing addresses
// that collide.
func NewUsers(rules *Rules, seed uint64) *Users {
	n := len(rules.Ports)
	u := &Users{Book: packet.NewBook(), ports: n, all: make([]member, 1+n+rules.Most), seed: seed,
		fresh: make([]newcomer, newcomers), exempts: make([][ExemptClasses]bucket, n), Forget: func(packet.Addr) {}}
	buckets := 1
	for buckets < 2*rules.Most {
		buckets *= 2
	}
	u.buckets = make([]packet.Addr, buckets)
	for range len(u.all) - 1 + MaxPeers {
		u.Book.Add(netip.Addr{}, netip.Addr{})
	}
	for a := len(u.all) - 1; a > n; a-- {
		u.all[a].next, u.free = u.free, packet.Addr(a)
	}
	u.hand = packet.Addr(n + 1)
	u.Follow(rules)
	return u
}

// Follow makes the rules those of another file. Users that both name keep their numbers.
func (u *Users) Follow(rules *Rules) {
	u.rules = rules
	for i, name := range rules.Ports {
		word := "others at " + name
		if i == 0 && rules.Unnamed == OneForAll {
			word = "others"
		}
		u.Book.Describe(packet.Addr(i+1), netip.Prefix{}, word)
	}
	u.Declare(rules)
	wanted := make([]key, 0, rules.NamedCount())
	for _, c := range rules.Customers {
		wanted = append(wanted, keyOfName(c.Name))
	}
	for _, p := range rules.Named {
		wanted = append(wanted, keyOfPrefix(p))
	}
	for _, v := range rules.VLANs {
		wanted = append(wanted, keyOfVLANs(v))
	}
	stays := make(map[key]bool, len(wanted))
	for _, k := range wanted {
		stays[k] = true
	}
	for a := range u.all {
		if x := &u.all[a]; x.key.kind != 0 && !stays[x.key] && (x.named || rules.Unnamed != Each) {
			u.drop(packet.Addr(a))
		}
	}
	var numbers []packet.Addr
	for _, k := range wanted {
		n := u.find(k)
		if n == 0 {
			if u.free == 0 {
				u.evict()
			}
			n = u.add(k)
		}
		u.all[n].named = true
		u.show(n, k)
		numbers = append(numbers, n)
	}
	u.setNames(rules, numbers)
	u.peers, _ = u.table(rules.Peers, func(i int) packet.Addr { return packet.Addr(len(u.all) + i) })
}

// Declare gives the book the customers of rules, for programs that are built before these are followed.
func (u *Users) Declare(rules *Rules) {
	if all := rules.declared(); all != nil || u.Book.Users() != nil {
		u.Book.SetUsers(all)
	}
}

// setNames has frames find the users that the file names or lists: customers have the first of the numbers, then come
// listed prefixes.
func (u *Users) setNames(rules *Rules, numbers []packet.Addr) {
	var prefixes []netip.Prefix
	var of []packet.Addr
	u.tagged = nil
	for i, c := range rules.Customers {
		for _, p := range c.Prefixes {
			prefixes, of = append(prefixes, p), append(of, numbers[i])
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
		prefixes, of = append(prefixes, p), append(of, numbers[len(rules.Customers)+i])
	}
	var addresses map[packet.Addr][2]netip.Addr
	u.named, addresses = u.table(prefixes, func(i int) packet.Addr { return of[i] })
	for i, c := range rules.Customers {
		n := numbers[i]
		u.Book.Assign(n, c.Name, everyBit)
		if a := addresses[n]; a != [2]netip.Addr{u.Book.V4(n), u.Book.V6(n)} {
			u.Forget(n)
			u.Book.Rename(n, a[0], a[1])
		}
		u.Book.Describe(n, netip.Prefix{}, c.Name)
	}
	if u.Book.Users() == nil {
		return
	}
	owner := userset.FindOwner(u.Book)
	for i := customers; i < len(prefixes); i++ { // a listed prefix within a customer's
		name, bits := owner(prefixes[i])
		if was, n := u.Book.Owner(of[i], 4); was != name || n != bits {
			u.Book.Assign(of[i], name, bits)
			u.Forget(of[i])
		}
	}
}

// everyBit is more bits than any prefix has.
const everyBit = 129

// table finds the numbers of prefixes. The book knows each number by an address that is in no longer prefix, in each
// family; addresses belong to numbers with several prefixes, which the caller enters.
func (u *Users) table(prefixes []netip.Prefix, number func(i int) packet.Addr) (
	table *dataplane.LPM[packet.Addr], addresses map[packet.Addr][2]netip.Addr) {
	addresses = map[packet.Addr][2]netip.Addr{}
	if len(prefixes) == 0 {
		return nil, addresses
	}
	table = dataplane.NewLPM[packet.Addr](len(prefixes))
	places := dataplane.NewLPM[int](len(prefixes))
	for i, p := range prefixes {
		table.Insert(p, number(i)) // there is room, and all are valid
		places.Insert(p, i)
	}
	for i, p := range prefixes {
		a, n := lone(p, places, prefixes), number(i)
		if int(n) < len(u.all) && u.all[n].key.kind == ofCustomer {
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
			u.Forget(n) // what programs have found out by the address
			u.rename(n, a, p)
		}
	}
	return table, addresses
}

// lone returns an address of a prefix that is in no longer one, so that it is found by it; the zero address if
// there is none, and then the prefix's number is unused.
func lone(p netip.Prefix, places *dataplane.LPM[int], prefixes []netip.Prefix) netip.Addr {
	a := p.Addr()
	for a.IsValid() && p.Contains(a) {
		i, _ := places.Lookup(a)
		if prefixes[i] == p {
			return a
		}
		a = last(prefixes[i]).Next()
	}
	return netip.Addr{}
}

// last is the last address of a prefix.
func last(p netip.Prefix) netip.Addr {
	b := p.Addr().AsSlice()
	for i := p.Bits(); i < 8*len(b); i++ {
		b[i/8] |= 0x80 >> (i % 8)
	}
	a, _ := netip.AddrFromSlice(b)
	return a
}

// rename has the book know number n as an address of a prefix.
func (u *Users) rename(n packet.Addr, a netip.Addr, p netip.Prefix) {
	if a.Is4() {
		u.Book.Rename(n, a, netip.Addr{})
	} else {
		u.Book.Rename(n, netip.Addr{}, a)
	}
	if !p.IsSingleIP() {
		u.Book.Describe(n, p, "")
	}
}

// others returns the number of all at a port without a number of their own.
func (u *Users) others(in packet.PortID) packet.Addr {
	if u.rules.Unnamed == OneForAll {
		return 1
	}
	return 1 + packet.Addr(in)
}

// address returns the user of an address that was seen at a port now.
func (u *Users) address(now unit.Time, in packet.PortID, a netip.Addr) packet.Addr {
	if u.named != nil {
		if n, ok := u.named.Lookup(a); ok {
			u.all[n].lastSeen = now
			return n
		}
	}
	if u.rules.Unnamed != Each {
		return u.others(in)
	}
	return u.each(now, in, u.keyOf(a))
}

// peer returns the number of the other end of a user's traffic, 0 if no program asks for it.
func (u *Users) peer(a netip.Addr) packet.Addr {
	if u.peers == nil || !a.IsValid() {
		return 0
	}
	n, _ := u.peers.Lookup(a)
	return n
}

// vlans returns the user of frames with such tags.
func (u *Users) vlans(now unit.Time, in packet.PortID, v VLANs) packet.Addr {
	if n := u.tagged[v]; n != 0 {
		u.all[n].lastSeen = now
		return n
	}
	switch {
	case v == 0:
		return u.others(in)
	case u.rules.Unnamed == Each:
		return u.each(now, in, keyOfVLANs(v))
	}
	if n := u.find(keyOfVLANs(v)); n != 0 {
		u.all[n].lastSeen = now
		return n
	}
	return u.others(in)
}

// customer returns the customer to whom frames with two such tags belong, by both of them or by the outer one; 0 if
// there is no user.
func (u *Users) customer(now unit.Time, outer, inner uint16) packet.Addr {
	if u.tagged == nil || outer == 0 {
		return 0
	}
	n := u.tagged[VLANs(outer)<<12|VLANs(inner)]
	if n == 0 {
		n = u.tagged[VLANs(outer)<<12]
	}
	if n != 0 {
		u.all[n].lastSeen = now
	}
	return n
}

// each returns the number of who is known, or has been there long enough for it; all others are the port's.
func (u *Users) each(now unit.Time, in packet.PortID, k key) packet.Addr {
	if n := u.find(k); n != 0 {
		u.all[n].lastSeen = now
		return n
	}
	if !u.settled(now, k) {
		return u.others(in)
	}
	if u.free == 0 {
		u.sweep(now)
	}
	if u.free == 0 {
		return u.others(in)
	}
	n := u.add(k)
	u.all[n].lastSeen = now
	u.show(n, k)
	return n
}

// settled reports whether an address has been there for the time after which it is a user.
func (u *Users) settled(now unit.Time, k key) bool {
	first := u.hash(k) % (newcomers / ways) * ways
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

// find returns the number of a key; 0 without one.
func (u *Users) find(k key) packet.Addr {
	n := u.buckets[u.hash(k)&uint64(len(u.buckets)-1)]
	for n != 0 && u.all[n].key != k {
		n = u.all[n].next
	}
	return n
}

// add gives a key a free number. There must be one.
func (u *Users) add(k key) packet.Addr {
	n := u.free
	u.free = u.all[n].next
	head := &u.buckets[u.hash(k)&uint64(len(u.buckets)-1)]
	u.all[n] = member{key: k, next: *head}
	*head = n
	u.Known++
	return n
}

// drop takes somebody's number away.
func (u *Users) drop(n packet.Addr) {
	at := &u.buckets[u.hash(u.all[n].key)&uint64(len(u.buckets)-1)]
	for *at != n {
		at = &u.all[*at].next
	}
	*at = u.all[n].next
	u.all[n], u.free = member{next: u.free}, n
	u.Book.Rename(n, netip.Addr{}, netip.Addr{})
	u.Book.Assign(n, "", 0)
	u.Known--
	u.Forget(n)
}

// sweep looks for somebody who has been idle for so long that another may have the number. It goes on where it
// stopped, so that a newcomer costs a bounded time however many there are.
func (u *Users) sweep(now unit.Time) {
	for range min(looked, u.rules.Most) {
		n := u.hand
		if u.hand++; int(u.hand) == len(u.all) {
			u.hand = packet.Addr(u.ports + 1)
		}
		if x := &u.all[n]; !x.named && now-x.lastSeen >= idleFor {
			u.drop(n)
			u.Forgotten++
			return
		}
	}
}

// evict makes room for a user whom the file names by taking the number of who has been silent longest.
func (u *Users) evict() {
	oldest := packet.Addr(0)
	for a := u.ports + 1; a < len(u.all); a++ {
		if x := &u.all[a]; !x.named && (oldest == 0 || x.lastSeen < u.all[oldest].lastSeen) {
			oldest = packet.Addr(a)
		}
	}
	u.drop(oldest)
	u.Forgotten++
}

// show has the book know who has a number.
func (u *Users) show(n packet.Addr, k key) {
	switch k.kind {
	case ofVLAN:
		u.Book.Describe(n, netip.Prefix{}, "vlan "+VLANs(k.lo).String())
	case ofIPv4:
		var b [4]byte
		be.PutUint32(b[:], uint32(k.lo))
		a := netip.AddrFrom4(b)
		u.rename(n, a, netip.PrefixFrom(a, u.rules.IPv4Bits))
	case ofIPv6:
		var b [16]byte
		be.PutUint64(b[:], k.hi)
		be.PutUint64(b[8:], k.lo)
		a := netip.AddrFrom16(b)
		u.rename(n, a, netip.PrefixFrom(a, u.rules.IPv6Bits))
	}
}

// keyOf returns the key of an address: the bits that make a user.
func (u *Users) keyOf(a netip.Addr) key {
	if a.Is4() {
		b := a.As4()
		return key{lo: uint64(be.Uint32(b[:]) &^ (1<<(32-u.rules.IPv4Bits) - 1)), kind: ofIPv4}
	}
	b := a.As16()
	k := key{hi: be.Uint64(b[:8]), lo: be.Uint64(b[8:]), kind: ofIPv6}
	if n := u.rules.IPv6Bits; n > 64 {
		k.lo &^= 1<<(128-n) - 1
	} else {
		k.lo = 0
		k.hi &^= 1<<(64-n) - 1
	}
	return k
}

func keyOfPrefix(p netip.Prefix) key {
	b := p.Addr().As16()
	return key{be.Uint64(b[:8]), be.Uint64(b[8:]), ofPrefix, uint8(p.Bits())}
}

func keyOfName(name string) key {
	h := fnv.New128a()
	h.Write([]byte(name))
	sum := h.Sum(nil)
	return key{be.Uint64(sum[:8]), be.Uint64(sum[8:]), ofCustomer, 0}
}

func keyOfVLANs(v VLANs) key { return key{lo: uint64(v), kind: ofVLAN} }

func (u *Users) hash(k key) uint64 {
	return Hash(k.hi^u.seed^uint64(k.kind)<<56^uint64(k.bits)<<48, k.lo)
}

// Hash hashes a and b: every bit of the result depends on every bit of them.
func Hash(a, b uint64) uint64 {
	h := (a ^ a>>32) * 0x9e3779b97f4a7c15
	h ^= b
	h = (h ^ h>>29) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>32) * 0x94d049bb133111eb
	return h ^ h>>31
}
