// Package rtnl makes and sets up network interfaces as the lab needs them: veth pairs,
// addresses, routes and neighbours by rtnetlink (rtnetlink(7), RFC 3549), offloads by
// ethtool's ioctls. Linux only.
package rtnl
