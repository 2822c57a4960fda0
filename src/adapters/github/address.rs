//! Addresses: where the API lives, path encoding, and next-page links made relative. No network.

use std::fmt::Write as _;

use http::Uri;

/// Where requests go: an origin, the REST prefix on it and the GraphQL path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address {
    /// Scheme and authority.
    pub origin: Uri,
    /// What stands before every REST path; empty or `/api/v3`-like.
    pub prefix: String,
    /// Path of the GraphQL endpoint.
    pub graphql: String,
    /// Is it this machine?
    pub loopback: bool,
}

impl Address {
    /// Reads an API base address. Plain `http` only on this machine, since a token goes with it.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let wrong = |why: &str| format!("`{text}` is no API address: {why}");
        let uri: Uri = text
            .trim_end_matches('/')
            .parse()
            .map_err(|_| wrong("it cannot be read"))?;
        let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
            return Err(wrong("it needs `https://` and a host"));
        };
        if authority.as_str().contains('@') {
            return Err(wrong("it carries credentials"));
        }
        let loopback = is_loopback(authority.host());
        match scheme {
            "https" => {}
            "http" if loopback => {}
            _ => return Err(wrong("only `https` keeps a token secret on the way")),
        }
        if uri.query().is_some() {
            return Err(wrong("it has a query"));
        }
        let prefix = uri.path().trim_end_matches('/').to_owned();
        // On GitHub Enterprise Server GraphQL is a sibling of `v3`, not a child.
        let graphql = match prefix.strip_suffix("/api/v3") {
            Some(before) => format!("{before}/api/graphql"),
            None => format!("{prefix}/graphql"),
        };
        let origin = format!("{scheme}://{authority}")
            .parse()
            .map_err(|_| wrong("its host cannot be read"))?;
        Ok(Self {
            origin,
            prefix,
            graphql,
            loopback,
        })
    }

    /// The path on our origin of an address that GitHub handed out. Its host is not looked at: it may
    /// be GitHub's own behind a proxy, and a token never follows it there.
    pub(super) fn relative(&self, link: &str) -> Option<String> {
        let uri: Uri = link.parse().ok()?;
        let path = uri.path_and_query()?.as_str();
        let known = path
            .strip_prefix(self.prefix.as_str())
            .is_some_and(|p| p.starts_with('/'));
        Some(if known {
            path.to_owned()
        } else {
            format!("{}{path}", self.prefix)
        })
    }

    /// Does an address lie on our origin? A bare path does.
    pub(super) fn is_ours(&self, link: &str) -> bool {
        link.parse::<Uri>().is_ok_and(|uri| {
            uri.authority().is_none()
                || (uri.authority() == self.origin.authority()
                    && uri.scheme() == self.origin.scheme())
        })
    }
}

fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || bare
            .parse::<std::net::IpAddr>()
            .is_ok_and(|ip| ip.is_loopback())
}

/// The `rel="next"` address of a `Link` header.
pub(super) fn next_link(header: &str) -> Option<&str> {
    header.split(',').find_map(|part| {
        let (target, rest) = part.trim().strip_prefix('<')?.split_once('>')?;
        let next = rest
            .split(';')
            .any(|word| matches!(word.trim(), r#"rel="next""# | "rel=next"));
        next.then_some(target)
    })
}

/// Percent-encodes one segment of a path.
pub(super) fn segment(text: &str) -> String {
    encode(text, |_| false)
}

/// Percent-encodes a ref name, whose slashes stay.
pub(super) fn ref_path(text: &str) -> String {
    encode(text, |byte| byte == b'/')
}

fn encode(text: &str, kept: fn(u8) -> bool) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) || kept(byte) {
            encoded.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

#[cfg(test)]
mod tests;
