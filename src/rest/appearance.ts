import { area, type RowOptions } from "./engine/area.js";

const branding: RowOptions = {
  example: {
    application_name: "Forge",
    logo_url: "/forge.png",
    announcement_banners: [{ enabled: true, message: "Maintenance on *Monday*", background_color: "#1d5fbf" }],
  },
};

export default area("appearance", "Branding of the deployment: name, logo, banners, and links.", [
  ["GET", "/api/v2/appearance", "GetAppearance", 200],
  ["PUT", "/api/v2/appearance", "UpdateAppearance", 200, branding],
]);
