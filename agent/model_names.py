"""The names of models, "provider:model", where a provider's part of it needs reading. Pure."""


def deployment_of(model: str) -> str:
    """Return the deployment of Azure OpenAI that a name stands for: "chat" of "chat/gpt-6.1-terra" and of "chat"."""
    return model.partition("/")[0]


def model_behind(provider: str, model: str) -> str:
    """Return the model that a name stands for: "gpt-6.1-terra" of "chat/gpt-6.1-terra" at Azure, else the name.

    Deployments of Azure have names of their own; without a model, the deployment is taken to have its model's name.
    An ARN of Amazon Bedrock ends with the id of its model or profile.
    """
    match provider:
        case "azure":
            return model.partition("/")[2] or model
        case "bedrock":
            return model.rpartition("/")[2] or model
        case _:
            return model
