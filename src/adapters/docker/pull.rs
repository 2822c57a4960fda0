//! Images: is it there, and how it comes. Says how far it is, in lines for the run's log.

use std::collections::BTreeSet;

use bollard::query_parameters::CreateImageOptionsBuilder;
use futures_util::StreamExt as _;

use super::{Engine, away, status, words};
use crate::model::sandbox::{Pull, Sandbox};
use crate::ports::{PortError, PortResult};

const WHAT: &str = "get the image";

/// The image's id, pulled as the configuration says. `say` takes lines for people.
pub(super) async fn ensure(
    engine: &Engine,
    sandbox: &Sandbox,
    say: &(dyn Fn(&str) + Send + Sync),
) -> PortResult<String> {
    match sandbox.pull {
        Pull::Never => needed(engine, sandbox).await,
        Pull::Missing => {
            if let Some(id) = local(engine, &sandbox.image).await? {
                return Ok(id);
            }
            pull(engine, &sandbox.image, say)
                .await
                .map_err(|error| cannot_pull(sandbox, &error))?;
            needed(engine, sandbox).await
        }
        Pull::Always => {
            let pulled = pull(engine, &sandbox.image, say).await;
            match (pulled, local(engine, &sandbox.image).await?) {
                (Ok(()), Some(id)) => Ok(id),
                (Ok(()), None) => needed(engine, sandbox).await,
                (Err(error), Some(id)) => {
                    say(&format!(
                        "cannot pull, going on with the one that is here: {error}"
                    ));
                    Ok(id)
                }
                (Err(error), None) => Err(cannot_pull(sandbox, &error)),
            }
        }
    }
}

/// The id of an image that has to be there.
pub(super) async fn needed(engine: &Engine, sandbox: &Sandbox) -> PortResult<String> {
    let (image, config) = (&sandbox.image, &sandbox.config);
    local(engine, image).await?.ok_or_else(|| {
        let message = format!(
            "the image `{image}` of `{config}.image` is not there, and `{config}.pull` does not get \
             it. Get it: docker pull {image}"
        );
        PortError::unavailable(WHAT, message, None)
    })
}

fn cannot_pull(sandbox: &Sandbox, error: &str) -> PortError {
    let (image, config) = (&sandbox.image, &sandbox.config);
    let message = format!(
        "the image `{image}` of `{config}.image` is not there and cannot be pulled: {error}. Get it \
         yourself (docker pull {image}; private registries want a login), or name another one"
    );
    PortError::unavailable(WHAT, message, None)
}

pub(super) async fn local(engine: &Engine, image: &str) -> PortResult<Option<String>> {
    match engine.docker.inspect_image(image).await {
        Ok(found) => Ok(Some(found.id.unwrap_or_default())),
        Err(error) if status(&error) == Some(404) => Ok(None),
        Err(error) => Err(away("look for the image", &error)),
    }
}

/// Name and tag; without a tag the engine would get all there are.
fn split(image: &str) -> (String, String) {
    if image.contains('@') {
        return (image.to_owned(), String::new());
    }
    match image.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') => (name.to_owned(), tag.to_owned()),
        _ => (image.to_owned(), "latest".to_owned()),
    }
}

async fn pull(
    engine: &Engine,
    image: &str,
    say: &(dyn Fn(&str) + Send + Sync),
) -> Result<(), String> {
    say(&format!("pulling `{image}`"));
    let (name, tag) = split(image);
    let mut options = CreateImageOptionsBuilder::default().from_image(&name);
    if !tag.is_empty() {
        options = options.tag(&tag);
    }
    let stream = engine
        .patient
        .create_image(Some(options.build()), None, None);
    let mut stream = std::pin::pin!(stream);
    let (mut layers, mut done) = (BTreeSet::new(), BTreeSet::new());
    while let Some(news) = stream.next().await {
        let news = news.map_err(|error| words(&error))?;
        let Some(layer) = news.id.filter(|layer| *layer != tag) else {
            continue;
        };
        let state = news.status.unwrap_or_default();
        let complete = matches!(state.as_str(), "Pull complete" | "Already exists");
        layers.insert(layer.clone());
        if complete && done.insert(layer) {
            say(&format!("pulled {} of {} layers", done.len(), layers.len()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn a_port_of_a_registry_is_no_tag() {
        for (image, name, tag) in [
            ("rust", "rust", "latest"),
            ("rust:1.89", "rust", "1.89"),
            ("reg:5000/a/b", "reg:5000/a/b", "latest"),
            ("reg:5000/a/b:2", "reg:5000/a/b", "2"),
            ("rust@sha256:00", "rust@sha256:00", ""),
        ] {
            assert_eq!(split(image), (name.to_owned(), tag.to_owned()), "{image}");
        }
    }
}
